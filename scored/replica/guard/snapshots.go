package guard

import (
	"io"

	"github.com/hashicorp/raft"
)

// Snapshots is a snapshot store with watched steps. A snapshot that cannot be written is no failure
// of the disk, since the log still has everything. A step that hangs is one.
type Snapshots struct {
	raft.SnapshotStore
	disk *Disk
}

// NewSnapshots guards a store.
func NewSnapshots(disk *Disk, store raft.SnapshotStore) *Snapshots {
	return &Snapshots{store, disk}
}

const snapshotStep = "writing a snapshot"

// Create implements raft.SnapshotStore.
func (s *Snapshots) Create(
	version raft.SnapshotVersion,
	index, term uint64,
	configuration raft.Configuration,
	configurationIndex uint64,
	transport raft.Transport,
) (raft.SnapshotSink, error) {
	if err := s.disk.Err(); err != nil {
		return nil, err
	}
	defer s.disk.watch(snapshotStep, s.disk.snapshotBound)()
	sink, err := s.SnapshotStore.Create(version, index, term, configuration, configurationIndex, transport)
	if err != nil {
		return nil, s.disk.Explain(snapshotStep, err)
	}
	head, err := encodeHead(index, term, configuration, configurationIndex)
	if err == nil {
		_, err = sink.Write(head)
	}
	if err != nil {
		_ = sink.Cancel() // the first error has the reason
		return nil, s.disk.Explain(snapshotStep, err)
	}
	return &watchedSink{sink, s.disk}, nil
}

// Open implements raft.SnapshotStore.
func (s *Snapshots) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	defer s.disk.watch("reading a snapshot", s.disk.snapshotBound)()
	meta, from, err := s.SnapshotStore.Open(id)
	if err != nil {
		return nil, nil, err
	}
	within, data, err := skipHead(meta, from)
	if err != nil {
		from.Close()
		return nil, nil, err
	}
	return within, data, nil
}

type watchedSink struct {
	raft.SnapshotSink
	disk *Disk
}

// Write implements io.Writer.
func (s *watchedSink) Write(data []byte) (int, error) {
	if err := s.disk.Err(); err != nil {
		return 0, err
	}
	defer s.disk.watch(snapshotStep, s.disk.snapshotBound)()
	n, err := s.SnapshotSink.Write(data)
	if err != nil {
		return n, s.disk.Explain(snapshotStep, err)
	}
	return n, nil
}

// Close implements io.Closer: the snapshot is valid from now on.
func (s *watchedSink) Close() error {
	defer s.disk.watch(snapshotStep, s.disk.snapshotBound)()
	if err := s.SnapshotSink.Close(); err != nil {
		return s.disk.Explain(snapshotStep, err)
	}
	return nil
}

// Cancel implements raft.SnapshotSink.
func (s *watchedSink) Cancel() error {
	defer s.disk.watch(snapshotStep, s.disk.snapshotBound)()
	return s.SnapshotSink.Cancel()
}
