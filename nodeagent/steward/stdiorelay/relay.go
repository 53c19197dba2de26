package stdiorelay

import (
	"errors"
	"fmt"
	"score/nodeagent/steward/loop"
	"score/nodeagent/steward/peer"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api"
	"score/scored/api/scorev1"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// outputChunk is how much output is read and sent at a time.
	outputChunk = api.MaxStreamData
	// outputHighWater is how much output may wait for the reader, in bytes, before the steward
	// stops reading the pipes and the ranks block: enough that a reader behind a busy network
	// always finds more, far below what a node would notice, and so little that sending the rest
	// while the gang is off costs the next gang nothing.
	outputHighWater = 512 << 10
)

// The kinds of events of a relay's loop.
const (
	kindReader loop.Kind = iota + 1
	kindOutputs
	kindOutput
	kindInput
)

// Relay moves the ranks' standard streams between their pipes and a reader, in a loop of its own:
// neither a slow disk under a detached job's files nor a flood of output delays PMI or a kill.
//
// An attached job's pipes are read only while the reader keeps up. A detached
// job's are always read, into files; a reader that does not keep up is dropped.
//
//	open <= added <= len(streams)       open is the number of pipes that have not ended
//	watched <= added                    equal, unless the kernel refuses to watch more
//	drained => lastQueued => allAdded and open = 0
type Relay struct {
	loop    *loop.Loop
	events  Events
	stopped bool
	ended   chan struct{}

	// Output, from the ranks' pipes.
	streams     []Stream // in the order of the ranks
	added       int      // streams whose pipe has come
	watched     int      // of these: pipes has had them
	allAdded    bool     // no more pipes will come
	open        int
	pipes       loop.Set  // of the pipes: one change stops or starts reading all
	reading     bool      // pipes is watched
	pace        pace      // of reading the pipes
	resumeAt    time.Time // when reading may go on: by pace, or after a refusal; zero: nothing stops it
	refusalTold bool      // the user has been told that the kernel refuses to watch a descriptor
	affinity    affinity
	files       *Files
	storeFailed bool // some output could not be stored; the user has a note

	// Input, to the ranks' pipes.
	input         input
	inputReported uint64 // the reader knows that the ranks have so many bytes

	// The reader: at most one, the newest wins; nil: none.
	reader     *peer.Peer
	kept       unacked
	lastQueued bool // the last message is queued for it
	drained    bool // it has all

	onRenewed func(clean bool) // called once the job's streams are forgotten; nil: keep them

	// Buffers that all messages of output share.
	buffer  [outputChunk]byte
	message stewardpb.FromSteward
	body    scorev1.Output     // of message
	mark    scorev1.OutputMark // of body
}

// Events are the relay's callbacks, each called on the relay's goroutine.
type Events struct {
	// Reader reports that a reader has come, or is gone.
	Reader func(attached bool)
	// Drained reports that the reader has all.
	Drained func()
	// Lost reports that output is lost, in a sentence for the user.
	Lost func(text string)
	// Delayed reports that input and output wait for the kernel, in a sentence for the user.
	Delayed func(text string)
}

// refusalPause is how long the relay waits before it asks the kernel again to watch a descriptor,
// which needs memory, and one of the user's watches: soon enough for a person who reads along.
const refusalPause = 100 * time.Millisecond

// New returns a relay without a job. Run makes it work.
func New(events Events) (*Relay, error) {
	l, err := loop.New()
	if err != nil {
		return nil, err
	}
	pipes, err := loop.NewSet()
	if err != nil {
		l.Close()
		return nil, fmt.Errorf("watching the ranks' output: %w", err)
	}
	r := &Relay{loop: l, events: events, pipes: pipes, ended: make(chan struct{})}
	r.input.loop = l
	r.body.Mark = &r.mark
	r.message.Message = &stewardpb.FromSteward_Output{Output: &r.body}
	return r, nil
}

// Run serves until Stop.
func (r *Relay) Run() {
	defer close(r.ended)
	defer r.release()
	for !r.stopped {
		events, err := r.loop.Wait(r.resumeAt)
		if err != nil {
			r.events.Lost(fmt.Sprintf("the output of the ranks is lost: %v", err))
			return
		}
		for i := range events {
			r.handle(loop.TagOf(&events[i]), events[i].Events)
		}
		r.settle()
	}
}

func (r *Relay) handle(t loop.Tag, events uint32) {
	switch t.Kind {
	case loop.Wake:
		r.loop.RunPosted()
	case kindReader:
		if r.reader != nil && r.reader.Number() == t.Index {
			r.serveReader(events)
		}
	case kindOutputs:
		r.readOutputs()
	case kindInput:
		if events&unix.EPOLLERR != 0 {
			r.input.onReaderGone(int(t.Index))
			return
		}
		r.input.writeSink(int(t.Index))
	}
}

// attach makes p the reader. It has all output up to the number has, and gets later output again.
// It may have sent more than its first message.
func (r *Relay) attach(p *peer.Peer, has uint64) {
	r.detach()
	if err := p.Join(r.loop, kindReader); err != nil {
		p.Close()
		return
	}
	r.reader, r.lastQueued, r.drained, r.inputReported = p, false, false, 0
	r.events.Reader(true)
	r.kept.acknowledge(has)
	r.reader.QueueFrame(r.kept.all())
	if has == 0 && !r.notifyEnds() {
		return
	}
	r.takeInput()
}

// notifyEnds tells a new reader, without a number, which streams ended before it came. Ends that
// are kept come with the output instead. It returns false if the reader is lost.
func (r *Relay) notifyEnds() bool {
	for i := range r.streams {
		o := &r.streams[i]
		if !o.ended || !o.hasData || r.kept.has(o.endNumber) {
			continue
		}
		r.mark.Sequence = 0
		r.body.Rank, r.body.Stream, r.body.Data, r.body.Eof = o.Rank, o.Number, nil, true
		if err := r.reader.Queue(&r.message); err != nil {
			r.detach()
			return false
		}
	}
	return true
}

func (r *Relay) detach() {
	if r.reader == nil {
		return
	}
	r.reader.Leave()
	r.reader.Close()
	r.reader = nil
	r.events.Reader(false)
}

func (r *Relay) serveReader(events uint32) {
	if events&(unix.EPOLLIN|unix.EPOLLHUP|unix.EPOLLERR) == 0 {
		return
	}
	if err := r.reader.Receive(); err != nil {
		r.detach()
		return
	}
	r.takeInput()
}

// settle ends a batch of events: it writes what waits, and starts or stops watching the pipes.
func (r *Relay) settle() {
	r.input.retryRefused()
	r.serveAttached()
	if r.onRenewed != nil {
		r.renew()
	}
	if err := errors.Join(r.updateReading(), r.watchPipes(), r.input.refused); err != nil {
		r.onRefused(err)
	}
}

// onRefused makes settle ask again for what the kernel refused.
func (r *Relay) onRefused(err error) {
	if again := time.Now().Add(refusalPause); r.resumeAt.IsZero() || again.Before(r.resumeAt) {
		r.resumeAt = again
	}
	if !r.refusalTold {
		r.refusalTold = true
		r.events.Delayed(fmt.Sprintf("input or output of the ranks waits until the kernel has room for it: %v", err))
	}
}

// serveAttached takes input from the reader, if there is one, and sends it the waiting output.
func (r *Relay) serveAttached() {
	if r.reader != nil && r.input.ready() {
		r.takeInput()
	}
	if r.reader == nil {
		return
	}
	if err := r.flushReader(); err != nil {
		r.detach()
		return
	}
	if r.lastQueued && !r.drained && r.reader.Unsent() == 0 {
		r.drained = true
		r.events.Drained()
	}
}

// flushReader queues reports for the reader, and writes everything that waits for it.
func (r *Relay) flushReader() error {
	if err := r.notifyInput(); err != nil {
		return err
	}
	if err := r.queueLast(); err != nil {
		return err
	}
	return r.reader.Flush()
}

// queueLast queues the last message once every stream has ended, including the inputs: a program
// that has closed its output may go on reading.
func (r *Relay) queueLast() error {
	if r.lastQueued || !r.allAdded || r.open > 0 || r.input.stillOpen() {
		return nil
	}
	last := &stewardpb.FromSteward{Message: &stewardpb.FromSteward_Drained{Drained: true}}
	if err := r.reader.Queue(last); err != nil {
		return err
	}
	r.lastQueued = true
	return nil
}

// release closes everything. The files have their last lines by then.
func (r *Relay) release() {
	r.detach()
	if r.files != nil {
		r.files.Close(func(error) {}) // with streams still open, whose loss was reported or intended
	}
	for i := range r.streams {
		loop.CloseFD(r.streams[i].fd)
	}
	r.input.close()
	loop.CloseFD(r.pipes.FD())
	r.loop.Close()
}
