package replica

import (
	"errors"
	"fmt"
	"io"
	"score/scored/failpoint"
	"score/scored/state"
	"score/scored/state/statepb"

	"github.com/hashicorp/raft"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"
)

// maxSnapshotBytes bounds what Restore reads: within the limits of package state, snapshots stay
// far below.
const maxSnapshotBytes = 4 << 30

// machine is the replica as Raft's state machine.
type machine Replica

// Apply implements raft.FSM.
func (m *machine) Apply(log *raft.Log) any {
	m.growth.add(len(log.Data))
	entry := new(statepb.Entry)
	if err := proto.Unmarshal(log.Data, entry); err != nil {
		m.logger.Error("an entry of the log is damaged", zap.Uint64("index", log.Index), zap.Error(err))
		return fmt.Errorf("entry %d is damaged: %w", log.Index, err)
	}
	_ = failpoint.Hit(failpoint.CommitBegin) // cannot fail
	if entry.GetTerm() != log.Term {
		return ErrStale
	}
	if m.outdated.Load() {
		return state.ErrProtocol
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.state.Apply(entry); err != nil {
		m.checkProtocol(err)
		return err
	}
	m.notifyObserver(entry)
	return nil
}

// checkProtocol reports through tooOld that the log needs a newer program.
func (m *machine) checkProtocol(err error) {
	if errors.Is(err, state.ErrProtocol) && !m.outdated.Swap(true) {
		m.tooOld <- err
	}
}

// notifyObserver passes an applied entry on.
func (m *machine) notifyObserver(entry *statepb.Entry) {
	if m.observe != nil {
		m.observe(m.state, entry)
	}
}

// Snapshot implements raft.FSM.
func (m *machine) Snapshot() (raft.FSMSnapshot, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return snapshot{m.state.Image(), m.growth, m.growth.bytes.Load()}, nil
}

// Restore implements raft.FSM.
func (m *machine) Restore(from io.ReadCloser) error {
	defer from.Close()
	data, err := io.ReadAll(io.LimitReader(from, maxSnapshotBytes))
	if err != nil {
		return err
	}
	restored, err := state.Restore(data)
	if err != nil {
		m.checkProtocol(err)
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state = restored
	m.growth.onRestored(len(data))
	m.notifyObserver(nil)
	return nil
}

type snapshot struct {
	image    *state.Image
	growth   *growth
	contains int64 // of the bytes that growth counts
}

// Persist implements raft.FSMSnapshot.
func (s snapshot) Persist(sink raft.SnapshotSink) error {
	data, err := s.image.Encode()
	if err == nil {
		_, err = sink.Write(data)
	}
	if err != nil {
		_ = sink.Cancel() // the first error has the reason
		return err
	}
	if err := sink.Close(); err != nil {
		return err
	}
	s.growth.onSnapshot(s.contains, len(data))
	return nil
}

// Release implements raft.FSMSnapshot.
func (s snapshot) Release() {}
