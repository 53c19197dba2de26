// Package backup reads and writes the file of 'scored snapshot save': the state of a cluster at one
// instant, with what is needed to verify it.
//
//	magic    8 bytes   89 'S' 'C' 'O' 'R' 'E' '\r' '\n' (a transfer as text spoils it)
//	version  uint32    1; numbers are little-endian
//	length   uint32    of the head
//	head     JSON      Head
//	length   uint64    of the state
//	state              what package state gives as a snapshot
//	digest   32 bytes  SHA-256 of all before
//
// Nothing follows. A reader reports another version, and reports a file with fewer or more bytes,
// or another digest, as damaged.
//
//	err := backup.Write(file, backup.Head{Cluster: "lab", ...}, data)
//	head, data, err := backup.Read(file)
package backup
