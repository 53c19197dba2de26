package rpc

import (
	"context"
	"errors"
	"score/scored/api/scorev1"
	"score/scored/leader"
	"slices"
	"sync"

	"connectrpc.com/connect"
)

// confirmEvery is the number of bytes sent to a client that confirms nothing itself after which the
// server confirms them to the nodes: a quarter of what nodes keep.
const confirmEvery = 128 << 10

// sourceKey identifies a source of output.
type sourceKey struct {
	job     uint64
	attempt uint32
	node    uint32 // index into the job's places
}

func sourceKeyOf(m *scorev1.OutputMark) sourceKey {
	return sourceKey{m.GetJobId(), m.GetAttempt(), m.GetNodeIndex()}
}

// outputProgress is how far the output of one source has come.
type outputProgress struct {
	confirms bool        // the client confirms; else output counts as shown once it is sent
	shown    chan uint64 // the newest number to confirm; one element
	pacing   pacing

	mu          sync.Mutex
	address     string
	offered     uint64        // number of the output offered last: the client may have it by now
	last        uint64        // number of the output sent last
	unconfirmed int           // bytes
	confirmed   uint64        // number of the last output that the client has
	changed     chan struct{} // closed, and replaced, when confirmed grows
}

func (p *outputProgress) reached() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

func (p *outputProgress) agentAddress() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.address
}

func (p *outputProgress) move(address string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.address = address
}

// onOffer records output that is about to go to the writer; the client may confirm it any time
// after that.
func (p *outputProgress) onOffer(number uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.offered = number
}

// mayBeShown reports whether the client can have the output that it confirms.
func (p *outputProgress) mayBeShown(number uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return number <= max(p.offered, p.last)
}

// onPassed records output that was given to the writer.
func (p *outputProgress) onPassed(number uint64, bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = number
	if p.confirms {
		return
	}
	p.setConfirmed(number)
	if p.unconfirmed += bytes; p.unconfirmed >= confirmEvery {
		p.unconfirmed = 0
		p.confirm(number)
	}
}

// confirm queues a number for the node. Only the newest number counts.
func (p *outputProgress) confirm(number uint64) {
	for {
		select {
		case p.shown <- number:
			return
		case older := <-p.shown:
			number = max(number, older)
		}
	}
}

// setConfirmed records what the client has.
func (p *outputProgress) setConfirmed(number uint64) {
	if number <= p.confirmed {
		return
	}
	p.confirmed = number
	close(p.changed)
	p.changed = make(chan struct{})
}

// awaitConfirmed waits until the client has confirmed all output sent to it. It returns false if
// ctx ends first.
func (p *outputProgress) awaitConfirmed(ctx context.Context) bool {
	for {
		p.mu.Lock()
		all, grown := p.confirmed >= p.last, p.changed
		p.mu.Unlock()
		if all {
			return true
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return false
		}
	}
}

// marks holds the progress of an attachment's sources.
type marks struct {
	confirms bool
	mu       sync.Mutex
	progress map[sourceKey]*outputProgress
	had      map[sourceKey]uint64 // what the client has from an earlier attachment
}

func newMarks(open *scorev1.AttachRequest_Open) *marks {
	m := &marks{confirms: open.GetConfirms(), progress: map[sourceKey]*outputProgress{}, had: map[sourceKey]uint64{}}
	for _, mark := range open.GetHave() {
		m.had[sourceKeyOf(mark)] = mark.GetSequence()
	}
	return m
}

// progressOf returns the progress of a source. A new source starts where the client's last
// attachment ended.
func (m *marks) progressOf(source *leader.Source) *outputProgress {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := sourceKey{source.Job, source.Attempt, source.Index}
	p := m.progress[at]
	if p == nil {
		p = &outputProgress{
			confirms:  m.confirms,
			shown:     make(chan uint64, 1),
			pacing:    pacing{checkDue: make(chan struct{}, 1)},
			last:      m.had[at],
			confirmed: m.had[at],
			changed:   make(chan struct{}),
		}
		m.progress[at] = p
	}
	p.move(source.Address)
	return p
}

// before reports whether the client has output of earlier attempts of a job, but none of this one.
func (m *marks) before(job uint64, attempt uint32) bool {
	earlier := false
	for at := range m.had {
		if at.job == job && at.attempt >= attempt {
			return false
		}
		earlier = earlier || at.job == job
	}
	return earlier
}

// confirm records what the client has shown. It ignores marks beyond what was sent.
func (m *marks) confirm(marks []*scorev1.OutputMark) {
	for _, mark := range marks {
		m.mu.Lock()
		p := m.progress[sourceKeyOf(mark)]
		m.mu.Unlock()
		if p != nil && p.mayBeShown(mark.GetSequence()) {
			p.confirm(mark.GetSequence())
			p.mu.Lock()
			p.setConfirmed(mark.GetSequence())
			p.mu.Unlock()
		}
	}
}

// confirming sends the source's agent what is shown, and the pace of the output, until ctx ends or
// stop is called.
func (m *merger) confirming(ctx context.Context, source *leader.Source, p *outputProgress) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	m.senders.Go(func() {
		defer m.flows.end(p)
		for {
			select {
			case <-p.pacing.checkDue:
				m.updatePace(ctx, source, p)
			case number := <-p.shown:
				m.confirmShown(ctx, source, p, number)
			case <-ctx.Done():
				return
			}
		}
	})
	return cancel
}

// confirmShown confirms output up to the number to the source's agent. If that fails, it is tried
// again: the ranks may be blocked until this confirmation, and no further output would trigger one.
func (m *merger) confirmShown(ctx context.Context, source *leader.Source, p *outputProgress, number uint64) {
	request := connect.NewRequest(&scorev1.OutputMark{JobId: source.Job, Attempt: source.Attempt, NodeIndex: source.Index, Sequence: number})
	_, err := m.agent(source.Node, p.agentAddress()).ConfirmOutput(ctx, request)
	if err == nil || connect.CodeOf(err) == connect.CodeUnimplemented { // an older agent
		return
	}
	if pauseFor(ctx, refetchPause) {
		p.confirm(number)
	}
}

// attached holds all attachments by job.
type attached struct {
	mu  sync.Mutex
	all map[uint64][]attachedMarks
}

type attachedMarks struct {
	*marks
	uid uint32
}

func newAttached() *attached { return &attached{all: map[uint64][]attachedMarks{}} }

func (a *attached) add(job uint64, m *marks, by leader.Caller) (remove func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all[job] = append(a.all[job], attachedMarks{m, by.UID})
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.all[job] = slices.DeleteFunc(a.all[job], func(other attachedMarks) bool { return other.marks == m })
		if len(a.all[job]) == 0 {
			delete(a.all, job)
		}
	}
}

// of returns a user's attachments to a job.
func (a *attached) of(job uint64, uid uint32) (found []*marks) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, m := range a.all[job] {
		if m.uid == uid {
			found = append(found, m.marks)
		}
	}
	return found
}

// maxMarks bounds the marks of one request: no job has more nodes.
const maxMarks = 1 << 14

// ConfirmOutput implements JobServiceHandler.
func (u users) ConfirmOutput(
	ctx context.Context,
	request *connect.Request[scorev1.ConfirmOutputRequest],
) (*connect.Response[scorev1.ConfirmOutputResponse], error) {
	if len(request.Msg.GetMarks()) > maxMarks {
		return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("too many marks"))
	}
	for _, m := range u.attached.of(request.Msg.GetJobId(), callerOf(ctx).UID) {
		m.confirm(request.Msg.GetMarks())
	}
	return connect.NewResponse(&scorev1.ConfirmOutputResponse{}), nil
}
