package replica

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"score/scored/replica/boltcheck"
	"score/scored/replica/guard"
	"score/scored/replica/wal"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

const (
	// boltName is the log's file in formats 1 to 3, a database of raft-boltdb.
	boltName = "log.db"
	// sealedFormat is the first format whose entries have checksums.
	sealedFormat = 2
	// boltLockTimeout bounds the wait for the database's own lock. The directory is locked already,
	// so only a foreign tool can hold it.
	boltLockTimeout = time.Second
	// convertBatch is the number of entries that are written at once: some MB.
	convertBatch = 1024
)

// voteTermKey and voteKey are Raft's keys of its last vote.
var voteTermKey, voteKey = []byte("LastVoteTerm"), []byte("LastVoteCand")

// convertLog copies the log of a directory of formats 1 to 3 to the files of format 4. What an
// earlier attempt has left is removed.
func convertLog(options Options, found int) error {
	from := filepath.Join(options.Dir, boltName)
	old, err := openBolt(from)
	if err != nil {
		return err
	}
	to, err := makeLog(options)
	if err != nil {
		return errors.Join(err, old.Close())
	}
	err = copyStable(to.Direct(), old)
	if err == nil {
		err = copyEntries(to, old, from, found)
	}
	return errors.Join(err, to.Close(), old.Close())
}

// makeLog makes an empty log.
func makeLog(options Options) (*guard.Log, error) {
	path := filepath.Join(options.Dir, logName)
	if err := os.RemoveAll(path); err != nil {
		return nil, err
	}
	disk := guard.NewDisk(options.Dir, options.writeBound, options.Logger)
	files, err := wal.Open(path)
	if err != nil {
		return nil, disk.Explain("making the log", err)
	}
	return guard.NewLog(disk, files), nil
}

// openBolt opens a log of an earlier format after checking it.
func openBolt(path string) (*raftboltdb.BoltStore, error) {
	err := boltcheck.File(path)
	if errors.Is(err, boltcheck.ErrDamaged) {
		return nil, damaged(path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("the log cannot be read: %w", err)
	}
	return raftboltdb.New(raftboltdb.Options{
		Path:        path,
		BoltOptions: &bbolt.Options{Timeout: boltLockTimeout, NoFreelistSync: true, NoStatistics: true},
	})
}

// copyStable copies term and vote.
func copyStable(to raft.StableStore, from *raftboltdb.BoltStore) error {
	for _, key := range [][]byte{termKey, voteTermKey} {
		number, err := from.GetUint64(key)
		if err == nil {
			err = to.SetUint64(key, number)
		}
		if err != nil && !errors.Is(err, raftboltdb.ErrKeyNotFound) {
			return err
		}
	}
	vote, err := from.Get(voteKey)
	if errors.Is(err, raftboltdb.ErrKeyNotFound) {
		return nil
	}
	return errors.Join(err, to.Set(voteKey, vote))
}

// copyEntries copies the entries. If there are gaps, as after a snapshot that came from another
// server, only the entries behind the last one are kept: all before are in the snapshot.
func copyEntries(to *guard.Log, from *raftboltdb.BoltStore, path string, found int) error {
	first, err1 := from.FirstIndex()
	last, err2 := from.LastIndex()
	if err := errors.Join(err1, err2); err != nil || last == 0 {
		return err
	}
	batch := make([]*raft.Log, 0, convertBatch)
	for index := first; index <= last; index++ {
		entry := new(raft.Log)
		err := from.GetLog(index, entry)
		if errors.Is(err, raft.ErrLogNotFound) {
			batch = batch[:0]
			continue
		}
		if err == nil && (found >= sealedFormat || len(entry.Extensions) > 0) {
			err = guard.Unseal(index, entry)
		}
		if err != nil {
			return damaged(path, fmt.Errorf("entry %d: %w", index, err))
		}
		if batch = append(batch, entry); len(batch) == cap(batch) || index == last {
			if err := to.StoreLogs(batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return nil
}

// removeBolt removes the log of an earlier format, once the directory has the present one.
func removeBolt(dir string) error {
	err := os.Remove(filepath.Join(dir, boltName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrDirectory, err)
	}
	return nil
}
