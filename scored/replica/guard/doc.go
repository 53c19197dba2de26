// Package guard stands between Raft and the disk of its log. hashicorp/raft waits for
// its stores without a bound: a leader whose disk hangs goes on sending heartbeats,
// decides nothing, and lets nobody else decide. Here a write that does not end within
// WriteBound fails, so that the leader steps down; and whatever is read back is compared
// with a checksum, so that a flipped bit is not applied on one server alone.
//
// A disk fails once and for good. After a write whose outcome is unknown, or a part of
// which may be there, Raft's picture of the log and the log differ; the only one who can
// make them agree is a server that reads the log again. So nothing more is written, the
// owner is told by Failed, and ends its process, which the service manager starts again.
//
//	disk := guard.NewDisk(dir, guard.WriteBound, logger)
//	log := guard.NewLog(disk, boltStore)
//	snapshots := guard.NewSnapshots(disk, fileStore)
//	...
//	case <-disk.Failed():
//		return disk.Err() // one sentence, wraps ErrDisk
package guard
