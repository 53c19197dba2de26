// Package wal keeps Raft's entries, term and vote on disk: a write-ahead log in files of a fixed
// size (segments), behind the interfaces of hashicorp/raft. A write is one system call, and one
// fdatasync(2) of a file that does not grow, so the file system has nothing else to write.
//
//	DIR/0000000000000007   a segment that is full
//	DIR/0000000000000008   the segment that is written
//
//	segment   head │ record │ record │ ... │ zeros to the end
//	record    length, kind, CRC-32C │ payload │ zeros to a multiple of 16
//	payload   entries of one write, or values of the stable store
//
// Nothing is ever overwritten. Entries that replace others follow them, and count. Each segment
// begins with all values of the stable store, so older segments can be removed without them.
//
// Open reads everything, and distinguishes damage from a write that a power failure interrupted.
// Such a write was never acknowledged and is the last one: no whole record follows it, and a sector
// of it was not written. Its bytes are cleared. All else is damage: Open returns ErrDamaged, and
// changes nothing. The checksum of a record's head includes its place and a random number of its
// segment, so no entry's data, whoever wrote them, can pass for a record.
//
//	l, err := wal.Open("/var/lib/score/log")
//	if err != nil {
//		return err // wraps ErrDamaged if a file is damaged, and names it
//	}
//	defer l.Close()
//	err = l.StoreLogs(entries) // on disk
package wal
