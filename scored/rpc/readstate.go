package rpc

import (
	"context"
	"score/scored/api/scorev1"
	"score/scored/leader"
	"sync"
	"time"
)

// readTimeout bounds telling this server's own leader that output was read.
const readTimeout = 5 * time.Second

// readState is what is known of how far the client has the output. Nodes keep it until the client has
// said that all is shown: what was written into a stream may be lost with any daemon on its way.
type readState struct {
	job          uint64        // that was attached to
	acknowledges bool          // the client says when it has all; else what was sent to it counts as shown
	over         chan struct{} // closed when the end was sent
	acknowledged chan struct{} // closed when the client has said that it has all
	once         sync.Once

	mu   sync.Mutex
	read []*leader.Source // one of each attempt whose output was fetched to its end
}

func newReading(open *scorev1.AttachRequest_Open) *readState {
	return &readState{
		job: open.GetJobId(), acknowledges: open.GetAcknowledges(),
		over: make(chan struct{}), acknowledged: make(chan struct{}),
	}
}

// acknowledge notes that the client has all.
func (r *readState) acknowledge() { r.once.Do(func() { close(r.acknowledged) }) }

// fetched notes that an attempt's output has been passed on to its end. That of what the job
// spawned need not be kept until the job's own end: it counts as read as soon as all of it is
// confirmed.
func (m *merger) fetched(ctx context.Context, sources []*leader.Source) {
	if sources[0].Job == m.job {
		m.mu.Lock()
		m.read = append(m.read, sources[0])
		m.mu.Unlock()
		return
	}
	m.senders.Go(func() {
		for _, source := range sources {
			if !m.marks.progressOf(source).awaitConfirmed(ctx) {
				return
			}
		}
		m.confirmRead(ctx, sources[0])
	})
}

// sendEnd tells the client the end, and the leader that the output was read, once the client has
// said so.
func (m *merger) sendEnd(ctx context.Context, end *scorev1.AttachEvent, gone <-chan error) error {
	if err := m.stream.Send(end); err != nil {
		return err
	}
	close(m.over)
	if m.acknowledges && !m.awaitAcknowledged(ctx, gone) {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, source := range m.read {
		m.confirmRead(ctx, source)
	}
	return nil
}

// awaitAcknowledged is false when the client leaves without a word.
func (m *merger) awaitAcknowledged(ctx context.Context, gone <-chan error) bool {
	select {
	case <-m.acknowledged:
		return true
	case <-gone: //nolint:errcheck // why it has no more to say does not matter
	case <-ctx.Done():
	}
	select {
	case <-m.acknowledged: // its last word
		return true
	default:
		return false
	}
}

// confirmRead goes on when the client leaves meanwhile.
func (m *merger) confirmRead(ctx context.Context, source *leader.Source) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	// A leader that leads no more has told its successor nothing: that asks the nodes, which keep
	// the output.
	_ = m.attachment.Read(ctx, source.Job, source.Attempt)
}
