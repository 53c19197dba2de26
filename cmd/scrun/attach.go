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
	// attachPatience is the time in which a lost daemon may come back, unless --patience sets
	// another: a server starts and is elected within seconds. After the cluster has come back, it
	// gives up a job whose scrun does not attach for 10 s.
	attachPatience = 30 * time.Second
	// unlimited means that scrun waits without a bound for a cluster without a majority: people
	// have to start its servers, and running jobs continue.
	unlimited = -1
	// attachPause is the time between two attempts.
	attachPause = 100 * time.Millisecond
	// maxFruitless is how often in a row a daemon may accept the attachment and end it without an
	// event.
	maxFruitless = 3
)

// attachments are the streams of one job, one after the other: when one breaks, the next continues
// where it ended.
type attachments struct {
	open func() *attachment

	mu      sync.Mutex
	stream  *attachment   // the open stream; nil: none
	changed chan struct{} // closed, and replaced, when stream changes

	sending sync.Mutex // one message at a time is sent
}

func newAttachments(open func() *attachment) *attachments {
	return &attachments{open: open, changed: make(chan struct{})}
}

// begin opens the next stream, and tells the daemon what output has arrived before.
func (a *attachments) begin(jobID uint64, have []*scorev1.OutputMark, received uint32) (*attachment, error) {
	stream := a.open()
	open := &scorev1.AttachRequest_Open{
		JobId: jobID, Owner: true, Have: have, Confirms: true, Acknowledges: true, ReceivedAttempt: received,
	}
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

// current returns the open stream, nil: none. changed is closed when that changes.
func (a *attachments) current() (stream *attachment, changed <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stream, a.changed
}

// sendOn sends on a stream. It may be called concurrently.
func (a *attachments) sendOn(stream *attachment, request *scorev1.AttachRequest) error {
	a.sending.Lock()
	defer a.sending.Unlock()
	return stream.Send(request)
}

// mayComeBack reports whether another attempt can succeed after an error: the daemon answered that
// it is unavailable now, or it or the connection was lost.
func mayComeBack(err error) bool {
	return connect.CodeOf(err) == connect.CodeUnavailable || !connect.IsWireError(err)
}

// patienceOf returns how long scrun waits for a cluster that cannot answer.
func patienceOf(o *options.Options, messages messenger) client.Patience {
	p := client.Patience{Gone: attachPatience, Undecided: unlimited, Waiting: messages.waiting}
	if o.Patience > 0 {
		p.Gone, p.Undecided = o.Patience, o.Patience
	}
	return p
}

// dialContext returns the context for finding a cluster. With --patience, scrun also waits that
// long for the daemon at this point.
func dialContext(ctx context.Context, o *options.Options, messages messenger) context.Context {
	if o.Patience > 0 {
		return client.WithPatience(ctx, patienceOf(o, messages))
	}
	return client.WithNotice(ctx, messages.waiting)
}

// refused reports whether the daemon has ended the attachment and given a reason. It does so,
// possibly several times, while another server becomes the leader.
func refused(err error) bool {
	return connect.CodeOf(err) == connect.CodeUnavailable && connect.IsWireError(err)
}

// pause waits for the given time, or until ctx ends.
func pause(ctx context.Context, wait time.Duration) {
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
}

// follow receives the job's events until the last, over as many streams as necessary, and waits
// until the output is shown. The first stream is nil if it could not be opened; broken is the
// reason.
func (s *session) follow(ctx context.Context, stream *attachment, broken error, outputFailed chan<- struct{}) outcome {
	how := outcome{broken: broken}
	events, troubles := newUnshown(), make(chan error, 1)
	go func() { troubles <- s.show(events, outputFailed) }()
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
			case refused(how.broken): // wait bounds it
			default:
				fruitless++
			}
		}
		if fruitless >= maxFruitless || ctx.Err() != nil || !s.mayAttachAgain(&how) || !wait.Continue(time.Now(), how.broken) {
			break
		}
		pause(ctx, attachPause)
		next, err := s.streams.begin(s.jobID, s.shown.received(), how.received)
		if stream = next; err != nil {
			how.broken = err
		}
	}
	events.end()
	how.trouble = <-troubles
	if err := s.showing.during(s.display.Close); how.trouble == nil {
		how.trouble = err
	}
	if how.verdict != nil && !how.final {
		s.acknowledge(stream)
	}
	return how
}

// mayAttachAgain reports whether another stream could tell more about the job than the last one
// did.
func (s *session) mayAttachAgain(how *outcome) bool {
	return how.verdict == nil && !s.own && mayComeBack(how.broken)
}

// receive receives the daemon's events until the last, or until the stream breaks, and returns
// their number. It queues output in events and does not wait until it is shown, so that input is
// forwarded meanwhile.
func (s *session) receive(stream *attachment, how *outcome, events *unshown) (came int) {
	for how.broken = nil; how.verdict == nil; came++ {
		event, err := stream.Receive()
		if err != nil {
			how.broken = err
			break
		}
		switch one := event.GetEvent().(type) {
		case *scorev1.AttachEvent_Output:
			if s.shown.isNew(one.Output.GetMark()) {
				events.put(event)
			}
		case *scorev1.AttachEvent_State:
			s.timeQueue(one.State.GetState())
			events.put(event)
		case *scorev1.AttachEvent_Restarted_:
			if one.Restarted.GetJobId() == s.jobID {
				how.missing = false // the output begins again with the job
			}
			events.put(event)
		case *scorev1.AttachEvent_Warning:
			events.put(event)
		case *scorev1.AttachEvent_OutputMissing:
			how.missing = true
		case *scorev1.AttachEvent_InputTaken:
			s.input.sent.taken(one.InputTaken)
		case *scorev1.AttachEvent_OutputEnded:
			how.received = one.OutputEnded
			s.sendReceived(stream, one.OutputEnded)
		case *scorev1.AttachEvent_Ended:
			how.verdict = one.Ended
		case *scorev1.AttachEvent_Final:
			how.verdict, how.final = one.Final, true
		}
	}
	return came
}

// sendReceived tells the cluster that all output of an attempt has arrived. It does not wait, since
// the stream may be full of input that no rank reads. The end of the stream ends the goroutine.
func (s *session) sendReceived(stream *attachment, attempt uint32) {
	request := &scorev1.AttachRequest{Request: &scorev1.AttachRequest_ReceivedAttempt{ReceivedAttempt: attempt}}
	go func() { _ = s.streams.sendOn(stream, request) }() // if it is lost, scrun acknowledges after the end
}

// acknowledgePatience bounds the wait for the cluster's answer to the acknowledgement. Without the
// answer the nodes keep the output a while longer, which does no other harm.
const acknowledgePatience = 2 * time.Second

// acknowledge tells the cluster that all output was shown, so that it need not keep it. The cluster
// then ends the stream.
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
	waitAtMost(acknowledgePatience, done) // the end of the session ends the stream, and so the goroutine
}
