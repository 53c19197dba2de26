// Package jobmap encodes the places of a job's ranks in few bytes. The leader sends all places to
// every node of a job, so a job of N nodes takes N times N places.
//
// The encoding leaves out what a node has in common with the one before it, and writes ranks and
// CPUs as progressions; block and cyclic distribution take one progression each. A thousand nodes
// of a hundred ranks take some 20 KB, a twentieth of the full size. Decode checks everything, and
// bounds the memory that a false count can cause.
//
//	encoded := jobmap.Append(nil, places)
//	places, err := jobmap.Decode(encoded)
package jobmap
