// Package jobmap writes where the ranks of a job are in few bytes: every node of a job is told
// about all of them, so with N nodes the leader sends N times N places.
//
// What nodes have in common with the one before is left out, and ranks and CPUs are written as
// progressions: block and cyclic distribution take one each. A thousand nodes of a hundred ranks
// take some 20 KB, a twentieth of what they take in full. Reading checks everything, and bounds the
// memory that a false count can cause.
//
//	encoded := jobmap.Append(nil, places)
//	places, err := jobmap.Decode(encoded)
package jobmap
