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

// confirmEvery is after how many bytes passed on to a client that confirms nothing its nodes are
// told so: a quarter of what they keep.
const confirmEvery = 128 << 10

// spot names where output comes from.
type spot struct {
	job     uint64
	attempt uint32
	node    uint32 // in the job's places
}

func spotOf(m *scorev1.OutputMark) spot { return spot{m.GetJobId(), m.GetAttempt(), m.GetNodeIndex()} }

// place is how far the output of one source has come.
type place struct {
	confirms bool        // the client does; else what is passed on counts as shown
	shown    chan uint64 // the newest number to confirm; one element
	pacing   pacing

	mu          sync.Mutex
	address     string
	offered     uint64        // number of what was last to be passed on: the client may have it by now
	last        uint64        // number of what was passed on last
	unconfirmed int           // bytes
	confirmed   uint64        // number up to which the client has it
	grown       chan struct{} // closed, and replaced, when confirmed grows
}

func (p *place) reached() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

func (p *place) where() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.address
}

func (p *place) move(address string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.address = address
}

// offer notes what is about to be handed to the writer, after which the client may confirm it any
// time.
func (p *place) offer(number uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.offered = number
}

// mayBeShown reports whether the client can have what it confirms.
func (p *place) mayBeShown(number uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return number <= max(p.offered, p.last)
}

// passed notes what has been handed to the writer.
func (p *place) passed(number uint64, bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = number
	if p.confirms {
		return
	}
	p.settle(number)
	if p.unconfirmed += bytes; p.unconfirmed >= confirmEvery {
		p.unconfirmed = 0
		p.confirm(number)
	}
}

// confirm has the node told, by confirming. Of several numbers the newest counts.
func (p *place) confirm(number uint64) {
	for {
		select {
		case p.shown <- number:
			return
		case older := <-p.shown:
			number = max(number, older)
		}
	}
}

// settle notes what the client has.
func (p *place) settle(number uint64) {
	if number <= p.confirmed {
		return
	}
	p.confirmed = number
	close(p.grown)
	p.grown = make(chan struct{})
}

// awaitConfirmed waits until the client has all that was passed on; false: ctx has ended before.
func (p *place) awaitConfirmed(ctx context.Context) bool {
	for {
		p.mu.Lock()
		all, grown := p.confirmed >= p.last, p.grown
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

// marks are the places of one attachment.
type marks struct {
	confirms bool
	mu       sync.Mutex
	places   map[spot]*place
	had      map[spot]uint64 // from an earlier attachment of the client
}

func newMarks(open *scorev1.AttachRequest_Open) *marks {
	m := &marks{confirms: open.GetConfirms(), places: map[spot]*place{}, had: map[spot]uint64{}}
	for _, mark := range open.GetHave() {
		m.had[spotOf(mark)] = mark.GetSequence()
	}
	return m
}

// place returns that of a source; a new one begins where the client's last attachment ended.
func (m *marks) place(source *leader.Source) *place {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := spot{source.Job, source.Attempt, source.Index}
	p := m.places[at]
	if p == nil {
		p = &place{
			confirms:  m.confirms,
			shown:     make(chan uint64, 1),
			pacing:    pacing{look: make(chan struct{}, 1)},
			last:      m.had[at],
			confirmed: m.had[at],
			grown:     make(chan struct{}),
		}
		m.places[at] = p
	}
	p.move(source.Address)
	return p
}

// before reports whether the client has output of earlier attempts of a job, and
// none of this one.
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

// confirm takes the client's word for what is shown. More than was passed on cannot be.
func (m *marks) confirm(marks []*scorev1.OutputMark) {
	for _, mark := range marks {
		m.mu.Lock()
		p := m.places[spotOf(mark)]
		m.mu.Unlock()
		if p != nil && p.mayBeShown(mark.GetSequence()) {
			p.confirm(mark.GetSequence())
			p.mu.Lock()
			p.settle(mark.GetSequence())
			p.mu.Unlock()
		}
	}
}

// confirming tells the source's agent what is shown, and how fast more may come, until ctx ends or
// stop is called.
func (m *merger) confirming(ctx context.Context, source *leader.Source, p *place) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	m.carriers.Go(func() {
		defer m.flows.end(p)
		for {
			select {
			case <-p.pacing.look:
				m.lookRound(ctx, source, p)
			case number := <-p.shown:
				request := connect.NewRequest(&scorev1.OutputMark{JobId: source.Job, Attempt: source.Attempt, NodeIndex: source.Index, Sequence: number})
				_, err := m.agent(source.Node, p.where()).ConfirmOutput(ctx, request)
				if err == nil || connect.CodeOf(err) == connect.CodeUnimplemented { // an older agent
					continue
				}
				// The ranks may wait for it, and write nothing meanwhile that would be confirmed.
				if pauseFor(ctx, refetchPause) {
					p.confirm(number)
				}
			case <-ctx.Done():
				return
			}
		}
	})
	return cancel
}

// attached are the attachments there are, by job.
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

// of lists the attachments to a job by a user.
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

// maxMarks bounds the marks of one request: a job has at most so many nodes.
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
