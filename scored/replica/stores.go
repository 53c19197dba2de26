package replica

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"score/scored/replica/guard"
	"score/scored/replica/wal"
	"slices"

	"github.com/hashicorp/raft"
)

// termKey is Raft's key of the current term.
var termKey = []byte("CurrentTerm")

const (
	// logName is the log's directory in the data directory.
	logName = "log"
	// keptSnapshots are the newest snapshot, and the previous one in case the newest is damaged.
	keptSnapshots = 2
)

// stores keep Raft's log, votes and snapshots.
type stores struct {
	logs      raft.LogStore
	stable    raft.StableStore
	first     raft.StableStore // the same, for starting a new log
	snapshots raft.SnapshotStore
	nameless  bool // made by a replica without a network
	existing  bool // they have a log already
	dir       string
	disk      *guard.Disk // nil in memory
	log       *guard.Log  // nil in memory
	closers   []io.Closer
}

// Close closes the stores in reverse order.
func (s *stores) Close() error {
	var errs []error
	for _, c := range slices.Backward(s.closers) {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

func openStores(options Options) (*stores, error) {
	if options.Dir == "" {
		memory := raft.NewInmemStore()
		return &stores{logs: memory, stable: memory, first: memory, snapshots: raft.NewDiscardSnapshotStore()}, nil
	}
	lock, err := lockDirectory(options.Dir)
	if err != nil {
		return nil, err
	}
	s := &stores{dir: options.Dir, closers: []io.Closer{lock}}
	if err := s.openFiles(options); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *stores) openFiles(options Options) error {
	found, err := findFormat(options.Dir)
	if err != nil {
		return err
	}
	if err := upgrade(options, found); err != nil {
		return err
	}
	if err := checkLogExists(options.Dir); err != nil {
		return err
	}
	if err := s.openRaft(options); err != nil {
		return err
	}
	if err := s.examine(options); err != nil {
		return err
	}
	s.log.KeepFrom(s.older)
	if err := s.findExisting(options.Dir); err != nil {
		return err
	}
	s.nameless, err = checkName(options.Dir, options.Name, options.Network != nil)
	return err
}

// openRaft opens Raft's files, whatever their content.
func (s *stores) openRaft(options Options) error {
	s.disk = guard.NewDisk(options.Dir, options.writeBound, options.Logger)
	if err := s.openLog(options.Dir); err != nil {
		return err
	}
	files, err := raft.NewFileSnapshotStoreWithLogger(options.Dir, keptSnapshots, newRaftLogger(options.Logger))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDirectory, s.disk.Explain("opening the snapshots", err))
	}
	s.snapshots = guard.NewSnapshots(s.disk, files)
	return nil
}

// firstTerm is the term of a new log before the first election.
const firstTerm = 1

// findExisting reports whether there is a log. If there is only the first term, making the log was
// interrupted: findExisting removes it, or no replica would ever lead.
func (s *stores) findExisting(dir string) error {
	last, err := s.logs.LastIndex()
	if err != nil {
		return fmt.Errorf("%w %q: its log cannot be read: %w", ErrDirectory, dir, err)
	}
	list, err := s.snapshots.List()
	if err != nil {
		return fmt.Errorf("%w %q: its snapshots cannot be listed: %w", ErrDirectory, dir, err)
	}
	if s.existing = last > 0 || len(list) > 0; s.existing {
		return nil
	}
	if term, err := s.stable.GetUint64(termKey); err != nil || term != firstTerm {
		return nil // no log, or a member of another's cluster
	}
	return s.first.SetUint64(termKey, 0)
}

// openLog opens the log's files, and reads them.
func (s *stores) openLog(dir string) error {
	files, err := wal.Open(filepath.Join(dir, logName))
	var damage *wal.DamageError
	switch {
	case errors.As(err, &damage):
		return damaged(damage.Path, errors.New(damage.Why))
	case err != nil:
		return fmt.Errorf("%w: %w", ErrDirectory, s.disk.Explain("opening the log", err))
	}
	s.log = guard.NewLog(s.disk, files)
	s.closers = append(s.closers, s.log)
	s.stable, s.first = s.log, s.log.Direct()
	s.logs = &logCache{LogStore: s.log}
	return nil
}

// failed returns a channel that is closed when the disk fails.
func (s *stores) failed() <-chan struct{} {
	if s.disk == nil {
		return nil
	}
	return s.disk.Failed()
}

// err returns why the disk has failed.
func (s *stores) err() error {
	if s.disk == nil {
		return nil
	}
	return s.disk.Err()
}

// newRaft wraps raft.NewRaft, which blocks forever or ends the process if it cannot write its term.
// If the disk fails meanwhile, newRaft returns, and stops a Raft that is made later.
func (s *stores) newRaft(config *raft.Config, machine raft.FSM, transport raft.Transport) (*raft.Raft, error) {
	type result struct {
		node *raft.Raft
		err  error
	}
	made := make(chan result, 1)
	go func() {
		node, err := raft.NewRaft(config, machine, s.logs, s.stable, s.snapshots, transport)
		made <- result{node, err}
	}()
	select {
	case r := <-made:
		return r.node, r.err
	case <-s.failed():
		go func() {
			if r := <-made; r.err == nil {
				_ = r.node.Shutdown().Error() // its result does not matter
			}
		}()
		return nil, s.err()
	}
}

// older returns the index of the last but one snapshot; 0: there is none.
func (s *stores) older() uint64 {
	list, err := s.snapshots.List() // newest first
	if err != nil || len(list) < keptSnapshots {
		return 0
	}
	return list[keptSnapshots-1].Index
}
