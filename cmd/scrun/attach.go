package main

import (
	"context"
	"score/cmd/scrun/options"
	"score/scored/api/scorev1"
	"score/scored/client"
	"sync"
	"time"

	"connectrpc.com/connect"
)

const (
	// attachPatience is how long a lost daemon may take to come back, unless --patience sets
	// another time: a server starts and elects itself within seconds. The cluster ends a job whose
	// scrun could have come back and has not for 10 s.
	attachPatience = 30 * time.Second
	// forEver is how long a cluster may be without a majority: people have to start its servers,
	// and running jobs go on.
	forEver = -1
	// attachPause is the time between two tries.
	attachPause = 100 * time.Millisecond
	// maxFruitless bounds the consecutive attachments that a daemon accepts and breaks off without
	// an event.
	maxFruitless = 3
)

// attachments holds the successive streams of one job: when one breaks, the next continues where it
// ended.
type attachments struct {
	open func() *attachment

	mu      sync.Mutex
	stream  *attachment   // the present stream, or nil
	changed chan struct{} // closed, and replaced, when stream changes

	sending sync.Mutex // held while a message is sent
}

func newAttachments(open func() *attachment) *attachments {
	return &attachments{open: open, changed: make(chan struct{})}
}

// begin opens the next stream. have is the output that need not come again.
func (a *attachments) begin(jobID uint64, have []*scorev1.OutputMark) (*attachment, error) {
	stream := a.open()
	open := &scorev1.AttachRequest_Open{JobId: jobID, Owner: true, Have: have, Confirms: true, Acknowledges: true}
	err := stream.Send(&scorev1.AttachRequest{Request: &scorev1.AttachRequest_Open_{Open: open}})
	if err != nil {
		_, err = stream.Receive() // returns the daemon's reason
		return nil, err
	}
	a.set(stream)
	return stream, nil
}

func (a *attachments) set(stream *attachment) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stream = stream
	close(a.changed)
	a.changed = make(chan struct{})
}

// current returns the present stream, nil if there is none; changed is closed when that changes.
func (a *attachments) current() (stream *attachment, changed <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stream, a.changed
}

// sendOn sends a request on a stream. Several goroutines may call it.
func (a *attachments) sendOn(stream *attachment, request *scorev1.AttachRequest) error {
	a.sending.Lock()
	defer a.sending.Unlock()
	return stream.Send(request)
}

// mayComeBack reports whether another attempt can succeed after an error: a daemon cannot answer
// now, or it or the connection to it was lost.
func mayComeBack(err error) bool {
	return connect.CodeOf(err) == connect.CodeUnavailable || !connect.IsWireError(err)
}

// patienceOf returns how long scrun waits for a cluster that cannot answer. An embedded cluster
// does not come back.
func patienceOf(o *options.Options, messages messenger, own bool) client.Patience {
	p := client.Patience{Gone: attachPatience, Undecided: forEver, Waiting: messages.waiting}
	switch {
	case own:
		p.Gone, p.Undecided = 0, 0
	case o.Patience > 0:
		p.Gone, p.Undecided = o.Patience, o.Patience
	}
	return p
}

// dialing returns the context of the search for a cluster.
func dialing(ctx context.Context, o *options.Options, messages messenger) context.Context {
	if o.Patience > 0 {
		return client.WithPatience(ctx, patienceOf(o, messages, false))
	}
	return client.WithNotice(ctx, messages.waiting)
}

// refused reports whether the daemon gave a reason for breaking the attachment off. It may have to
// do so more than once while another server begins to lead.
func refused(err error) bool {
	return connect.CodeOf(err) == connect.CodeUnavailable && connect.IsWireError(err)
}

// follow receives the job's events until the last, over as many streams as it takes. The first is
// nil if it could not be opened, for the reason broken.
func (s *session) follow(ctx context.Context, stream *attachment, broken error, mute chan<- struct{}) outcome {
	how := outcome{broken: broken}
	events, troubles := newUnshown(), make(chan error, 1)
	go func() { troubles <- s.show(events, mute) }()
	fruitless, wait := 0, s.patience.NewWait()
	for {
		if stream != nil {
			came := s.receive(stream, &how, events)
			s.streams.set(nil)
			switch {
			case came > 0:
				fruitless = 0
				wait.Answered()
			case client.IsUndecided(how.broken):
				fruitless = 0
			case refused(how.broken): // only the patience bounds these attempts
			default:
				fruitless++
			}
		}
		if how.verdict != nil || s.own || !mayComeBack(how.broken) || fruitless >= maxFruitless ||
			ctx.Err() != nil || !wait.Continue(time.Now(), how.broken) {
			break
		}
		select {
		case <-time.After(attachPause):
		case <-ctx.Done():
		}
		next, err := s.streams.begin(s.jobID, s.shown.received())
		if stream = next; err != nil {
			how.broken = err
		}
	}
	events.end()
	how.trouble = <-troubles
	if err := s.showing.during(s.display.Close); how.trouble == nil {
		how.trouble = err
	}
	if how.verdict != nil {
		s.acknowledge(stream)
	}
	return how
}

// acknowledgePatience bounds the wait for the acknowledgement that all output was shown. If it
// fails, the nodes only keep the output for a while longer.
const acknowledgePatience = 2 * time.Second

// acknowledge reports that all output was shown, so that the cluster need not keep it. It returns
// when the cluster has ended the stream.
func (s *session) acknowledge(stream *attachment) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		request := &scorev1.AttachRequest{Request: &scorev1.AttachRequest_Acknowledged{Acknowledged: true}}
		if s.streams.sendOn(stream, request) != nil {
			return
		}
		for {
			if _, err := stream.Receive(); err != nil {
				return
			}
		}
	}()
	bound := time.NewTimer(acknowledgePatience)
	defer bound.Stop()
	select {
	case <-done:
	case <-bound.C: // the end of the process ends the stream and the goroutine
	}
}

// confirmEvery is the number of shown bytes between two confirmations to the cluster: a quarter of
// the output that each node keeps.
const confirmEvery = 128 << 10

// shown counts the job's output that has come, and the output that was shown.
type shown struct {
	ctx     context.Context // of the session; confirmations end with it
	job     uint64          // that was attached to
	confirm func([]*scorev1.OutputMark) error

	mu         sync.Mutex
	came       map[shownFrom]uint64
	last       map[shownFrom]uint64
	bytes      int // since the last time that confirm was called
	confirming bool
}

type shownFrom struct {
	job     uint64
	attempt uint32
	node    uint32
}

func shownOf(m *scorev1.OutputMark) shownFrom {
	return shownFrom{m.GetJobId(), m.GetAttempt(), m.GetNodeIndex()}
}

func newShown(ctx context.Context, job uint64, confirm func([]*scorev1.OutputMark) error) *shown {
	return &shown{ctx: ctx, job: job, confirm: confirm, came: make(map[shownFrom]uint64), last: make(map[shownFrom]uint64)}
}

// isNew records that a piece of output has come, and reports whether it is the first time.
func (s *shown) isNew(mark *scorev1.OutputMark) bool {
	if mark.GetSequence() == 0 {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if mark.GetSequence() <= s.came[shownOf(mark)] {
		return false
	}
	s.came[shownOf(mark)] = mark.GetSequence()
	return true
}

// add counts a piece of output as shown, and confirms to the cluster now and then. It confirms the
// end of a stream of a spawned process at once, so that the nodes need not keep that output.
func (s *shown) add(output *scorev1.Output) {
	mark := output.GetMark()
	if mark.GetSequence() == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last[shownOf(mark)] = mark.GetSequence()
	if s.bytes += len(output.GetData()); output.GetEof() && mark.GetJobId() != s.job {
		s.bytes += confirmEvery
	}
	if s.bytes < confirmEvery || s.confirming {
		return
	}
	s.confirming = true
	go s.confirmShown()
}

// confirmAgain is the pause before a failed confirmation is sent again.
const confirmAgain = 200 * time.Millisecond

// confirmShown confirms output until little is left unconfirmed. It repeats a failed confirmation:
// the ranks may be blocked until it arrives, and no further output would cause another one.
func (s *shown) confirmShown() {
	for {
		s.mu.Lock()
		if s.bytes < confirmEvery {
			s.confirming = false
			s.mu.Unlock()
			return
		}
		s.bytes = 0
		marks := marksOf(s.last)
		s.mu.Unlock()
		if s.confirm(marks) == nil {
			continue
		}
		select {
		case <-s.ctx.Done():
			return
		case <-time.After(confirmAgain):
		}
		s.mu.Lock()
		s.bytes += confirmEvery
		s.mu.Unlock()
	}
}

// received returns the position of each node's output that has arrived here, shown or not.
func (s *shown) received() []*scorev1.OutputMark {
	s.mu.Lock()
	defer s.mu.Unlock()
	return marksOf(s.came)
}

func marksOf(places map[shownFrom]uint64) []*scorev1.OutputMark {
	marks := make([]*scorev1.OutputMark, 0, len(places))
	for from, sequence := range places {
		marks = append(marks, &scorev1.OutputMark{JobId: from.job, Attempt: from.attempt, NodeIndex: from.node, Sequence: sequence})
	}
	return marks
}
