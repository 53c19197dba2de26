package rpc

import (
	"context"
	"score/scored/api/scorev1"
	"score/scored/leader"
	"slices"
	"sync"
	"time"
)

// readTimeout bounds the call that records output as read on this server's leader.
const readTimeout = 5 * time.Second

// readState records how much of the output the client is known to have. Nodes keep output until the
// client acknowledges all of it: what was written into a stream can be lost with any daemon on the
// way.
type readState struct {
	job          uint64        // the attached one
	acknowledges bool          // the client acknowledges; else what was sent counts as shown
	over         chan struct{} // closed when the end was sent
	acknowledged chan struct{} // closed when the client has acknowledged all
	once         sync.Once

	mu       sync.Mutex
	read     []*leader.Source // one for each attempt whose output was fetched to its end
	received uint32           // the latest attempt of which the client has all output
}

func newReadState(open *scorev1.AttachRequest_Open) *readState {
	return &readState{
		job: open.GetJobId(), acknowledges: open.GetAcknowledges(), received: open.GetReceivedAttempt(),
		over: make(chan struct{}), acknowledged: make(chan struct{}),
	}
}

// acknowledge records that the client has all output.
func (r *readState) acknowledge() { r.once.Do(func() { close(r.acknowledged) }) }

// receivedAll records that the client has all output of an attempt.
func (r *readState) receivedAll(attempt uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.received = max(r.received, attempt)
}

// isReceived reports whether the client has confirmed all output that was fetched.
func (r *readState) isReceived() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	later := func(s *leader.Source) bool { return s.Attempt > r.received }
	return r.received > 0 && !slices.ContainsFunc(r.read, later)
}

// onFetched records that an attempt's output was sent to its end, and tells the client. The client
// answers while the job's end is being committed, so no round trip follows the end. Output of
// spawned jobs counts as read as soon as all of it is confirmed: nodes need not keep it until the
// job's own end.
func (m *merger) onFetched(ctx context.Context, sources []*leader.Source) {
	if sources[0].Job == m.job {
		m.mu.Lock()
		m.read = append(m.read, sources[0])
		m.mu.Unlock()
		if m.acknowledges {
			ended := &scorev1.AttachEvent_OutputEnded{OutputEnded: sources[0].Attempt}
			m.emit(ctx, &scorev1.AttachEvent{Event: ended})
		}
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

// sendEnd sends the client the end of the job. Once the client has acknowledged all output, sendEnd
// records the output as read.
func (m *merger) sendEnd(ctx context.Context, end *scorev1.AttachEvent, gone <-chan error) error {
	received := m.isReceived()
	if received {
		end = &scorev1.AttachEvent{Event: &scorev1.AttachEvent_Final{Final: end.GetEnded()}}
	}
	if err := m.stream.Send(end); err != nil && !received {
		return err
	}
	close(m.over)
	if m.acknowledges && !received && !m.awaitAcknowledged(ctx, gone) {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, source := range m.read {
		m.confirmRead(ctx, source)
	}
	return nil
}

// awaitAcknowledged waits for the client, and reports whether it acknowledged all output before it
// left.
func (m *merger) awaitAcknowledged(ctx context.Context, gone <-chan error) bool {
	select {
	case <-m.acknowledged:
		return true
	case <-gone: //nolint:errcheck // why it has no more to say does not matter
	case <-ctx.Done():
	}
	select {
	case <-m.acknowledged: // sent just before it left
		return true
	default:
		return false
	}
}

// confirmRead records an attempt's output as read, even if the client leaves meanwhile.
func (m *merger) confirmRead(ctx context.Context, source *leader.Source) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	// If this server no longer leads, the record is lost: the next leader asks the nodes, which
	// keep the output.
	_ = m.attachment.Read(ctx, source.Job, source.Attempt)
}
