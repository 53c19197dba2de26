package replica

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"score/scored/state"
	"strings"

	"github.com/hashicorp/raft"
	"go.uber.org/zap"
)

const (
	// snapshotsName is the directory of Raft's snapshots.
	snapshotsName = "snapshots"
	// unfinished is the suffix of an incomplete snapshot.
	unfinished = ".tmp"
	// damagedSnapshotName is where a damaged snapshot is kept for inspection; the next one replaces
	// it.
	damagedSnapshotName = "damaged-snapshot"
)

// damaged returns the error for a damaged file of the data directory, with what to do about it.
func damaged(path string, err error) error {
	// The cause is not wrapped: the unexpected end of a file must not pass for that of a
	// connection.
	return fmt.Errorf(
		"%w: %s cannot be used: %s; if the cluster has other servers, remove this one, empty its data directory and join it again; otherwise restore the file from a copy, or see 'scored snapshot restore'",
		ErrDirectory,
		path,
		err.Error(),
	)
}

// checkLogExists refuses a directory with snapshots and no log: its votes are lost.
func checkLogExists(dir string) error {
	snapshots, err1 := readDirectory(filepath.Join(dir, snapshotsName))
	segments, err2 := readDirectory(filepath.Join(dir, logName))
	if err := errors.Join(err1, err2); err != nil {
		return fmt.Errorf("%w: %w", ErrDirectory, err)
	}
	if len(snapshots) > 0 && len(segments) == 0 {
		return damaged(filepath.Join(dir, logName), errors.New("it is missing"))
	}
	return nil
}

// readDirectory is like os.ReadDir, for a directory that need not exist.
func readDirectory(dir string) ([]os.DirEntry, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

// badSnapshot is a snapshot that cannot be read.
type badSnapshot struct {
	path  string
	index uint64 // of its last entry
	why   error
}

// examine reads everything that Raft will read, to find damage before Raft does: Raft would end the
// process or skip entries. A damaged snapshot is replaced by the previous one and the log.
func (s *stores) examine(options Options) error {
	if err := removeUnfinished(options.Dir); err != nil {
		return err
	}
	sound, bad, err := s.soundSnapshot(options.Dir)
	if err != nil {
		return err
	}
	last, err := s.log.LastIndex()
	if err != nil {
		return fmt.Errorf("%w %q: its log cannot be read: %w", ErrDirectory, options.Dir, err)
	}
	entry := new(raft.Log)
	for index := sound + 1; index <= max(last, newest(bad)); index++ {
		err := s.log.Check(index, entry)
		switch {
		case err == nil:
		case index <= newest(bad):
			return damaged(bad[0].path, bad[0].why)
		default:
			return damaged(filepath.Join(options.Dir, logName), err)
		}
	}
	return putAside(options, bad)
}

func newest(bad []badSnapshot) uint64 {
	index := uint64(0)
	for _, b := range bad {
		index = max(index, b.index)
	}
	return index
}

// soundSnapshot finds the newest readable snapshot, and the newer ones that are not readable. It
// returns the index of the last entry in it; 0: there is none, and the log must be complete.
func (s *stores) soundSnapshot(dir string) (index uint64, bad []badSnapshot, err error) {
	list, err := s.snapshots.List() // newest first, without those whose description is damaged
	if err != nil {
		return 0, nil, fmt.Errorf("%w %q: its snapshots cannot be listed: %w", ErrDirectory, dir, err)
	}
	bad, err = unlistedSnapshots(dir, list)
	if err != nil {
		return 0, nil, err
	}
	for _, meta := range list {
		path := filepath.Join(dir, snapshotsName, meta.ID)
		_, from, err := s.snapshots.Open(meta.ID)
		if err != nil {
			bad = append(bad, badSnapshot{path, meta.Index, err})
			continue
		}
		// A snapshot that is intact but has no meaning here is of another version: no older one may
		// replace it.
		if err := restorable(from); err != nil {
			return 0, nil, damaged(path, err)
		}
		return meta.Index, bad, nil
	}
	return 0, bad, nil
}

func restorable(from io.ReadCloser) error {
	defer from.Close()
	data, err := io.ReadAll(io.LimitReader(from, maxSnapshotBytes))
	if err != nil {
		return err
	}
	_, err = state.Restore(data)
	return err
}

// unlistedSnapshots finds snapshots whose description cannot be read, and which are therefore not
// in the list. Their names contain their indices.
func unlistedSnapshots(dir string, list []*raft.SnapshotMeta) (bad []badSnapshot, err error) {
	entries, err := os.ReadDir(filepath.Join(dir, snapshotsName))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDirectory, err)
	}
	listed := make(map[string]bool, len(list))
	oldest := uint64(0)
	for _, meta := range list {
		listed[meta.ID] = true
		oldest = meta.Index
	}
	for _, entry := range entries {
		var term, index, millis uint64
		if _, err := fmt.Sscanf(entry.Name(), "%d-%d-%d", &term, &index, &millis); err != nil || listed[entry.Name()] || index < oldest {
			continue
		}
		bad = append(bad, badSnapshot{filepath.Join(dir, snapshotsName, entry.Name()), index, errHead})
	}
	return bad, nil
}

var errHead = fmt.Errorf("%w: its description cannot be read", state.ErrSnapshot)

// removeUnfinished removes incomplete snapshots, which Raft never does.
func removeUnfinished(dir string) error {
	entries, err := os.ReadDir(filepath.Join(dir, snapshotsName))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDirectory, err)
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), unfinished) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, snapshotsName, entry.Name())); err != nil {
			return fmt.Errorf("%w: %w", ErrDirectory, err)
		}
	}
	return nil
}

// putAside moves damaged snapshots away, since Raft would try to send them to other servers. The
// log has their entries.
func putAside(options Options, bad []badSnapshot) error {
	to := filepath.Join(options.Dir, damagedSnapshotName)
	for _, b := range bad {
		if err := os.RemoveAll(to); err != nil {
			return fmt.Errorf("%w: %w", ErrDirectory, err)
		}
		if err := os.Rename(b.path, to); err != nil {
			return fmt.Errorf("%w: %w", ErrDirectory, err)
		}
		options.Logger.Error("a snapshot is damaged; the state is made from what was before it and the log",
			zap.String("snapshot", b.path), zap.String("kept_as", to), zap.Error(b.why))
	}
	return nil
}
