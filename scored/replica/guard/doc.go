// Package guard bounds and checks Raft's access to the disk of its log. hashicorp/raft waits for
// its stores without a bound: a leader whose disk hangs goes on sending heartbeats, decides
// nothing, and keeps others from leading. Here a write that does not end within WriteBound fails,
// so that the leader steps down. Entries carry checksums, so that a flipped bit is not applied on
// one server alone.
//
// A disk fails once and for good. After a write that may or may not have reached the disk, Raft's
// memory and the log can differ, and only reading the log again makes them agree. So nothing more
// is written. Failed reports the failure to the owner, which ends its process; the service manager
// starts it again.
//
//	disk := guard.NewDisk(dir, guard.WriteBound, logger)
//	log := guard.NewLog(disk, files) // a wal.Log
//	snapshots := guard.NewSnapshots(disk, fileStore)
//	...
//	case <-disk.Failed():
//		return disk.Err() // one sentence, wraps ErrDisk
package guard
