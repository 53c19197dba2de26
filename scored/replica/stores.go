package replica

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

const (
	// boltLockTimeout bounds waiting for the database's own lock. The
	// directory's lock is ours already, so only a foreign tool can hold it.
	boltLockTimeout = time.Second
	// keptSnapshots is the present one and the one before, in case it is bad.
	keptSnapshots = 2
	// cachedLogs spares reading back entries that were just written.
	cachedLogs = 512
)

// stores are where Raft keeps log, votes and snapshots.
type stores struct {
	logs      raft.LogStore
	stable    raft.StableStore
	snapshots raft.SnapshotStore
	existing  bool // they hold a log already
	nameless  bool // that of a replica without a network
	closers   []io.Closer
}

// Close closes the newest first.
func (s *stores) Close() error {
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i].Close())
	}
	return errors.Join(errs...)
}

func openStores(options Options) (*stores, error) {
	if options.Dir == "" {
		memory := raft.NewInmemStore()
		return &stores{logs: memory, stable: memory, snapshots: raft.NewDiscardSnapshotStore()}, nil
	}
	lock, err := lockDirectory(options.Dir)
	if err != nil {
		return nil, err
	}
	s := &stores{closers: []io.Closer{lock}}
	if err := s.openFiles(options); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *stores) openFiles(options Options) error {
	if err := checkFormat(options.Dir); err != nil {
		return err
	}
	db, err := raftboltdb.New(raftboltdb.Options{
		Path: filepath.Join(options.Dir, "log.db"),
		BoltOptions: &bbolt.Options{
			Timeout: boltLockTimeout,
			// The list of free pages is rebuilt when the file is opened, which
			// is quick; writing it would make every commit larger.
			NoFreelistSync: true,
			FreelistType:   bbolt.FreelistMapType,
			NoStatistics:   true,
		},
	})
	if err != nil {
		return fmt.Errorf("cannot open the log in the data directory %q: %w", options.Dir, err)
	}
	s.closers = append(s.closers, db)
	if s.logs, err = raft.NewLogCache(cachedLogs, db); err != nil {
		return err
	}
	s.stable = db
	s.snapshots, err = raft.NewFileSnapshotStoreWithLogger(options.Dir, keptSnapshots, newRaftLogger(options.Logger))
	if err != nil {
		return fmt.Errorf("cannot open the snapshots in the data directory %q: %w", options.Dir, err)
	}
	if s.existing, err = raft.HasExistingState(s.logs, s.stable, s.snapshots); err != nil {
		return fmt.Errorf("cannot read the log in the data directory %q: %w", options.Dir, err)
	}
	s.nameless, err = checkName(options.Dir, options.Name, options.Network != nil)
	return err
}
