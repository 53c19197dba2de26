package steward

import (
	"fmt"
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
	// stdoutStream and stderrStream number a rank's streams in messages.
	stdoutStream = 1
	stderrStream = 2
)

// stdioRelay moves the ranks' standard streams between their pipes and a reader, in a loop of its
// own: neither a slow disk under a detached job's files nor a flood of output delays PMI or a kill.
//
// An attached job's pipes are read only while the reader keeps up. A detached
// job's are always read, into files; a reader that does not keep up is dropped.
//
//	open <= added <= len(outputs)       open is the number of pipes that have not ended
//	drained => lastQueued => allAdded and open = 0
type stdioRelay struct {
	*loop
	events  stdioEvents
	stopped bool
	ended   chan struct{}

	// Output, from the ranks' pipes.
	outputs     []output // in the order of the ranks
	added       int      // outputs whose pipe has come
	allAdded    bool     // no more pipes will come
	open        int
	pipes       int       // epoll set of the pipes: one change stops or starts reading all
	reading     bool      // pipes is watched
	pace        pace      // of reading the pipes
	resumeAt    time.Time // when pace allows reading again; zero: it does not stop it
	affinity    affinity
	files       *files
	storeFailed bool // some output could not be stored; the user has a note

	// Input, to the ranks' pipes.
	input         input
	inputReported uint64 // the reader knows that the ranks have so many bytes

	// The reader: at most one, the newest wins; nil: none.
	reader     *peer
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

// stdioEvents are the relay's callbacks to the rest of the steward; each is
// called on the relay's goroutine.
type stdioEvents struct {
	reader  func(attached bool)
	drained func()
	lost    func(text string) // output is lost; a sentence for the user
}

func newStdioRelay(events stdioEvents) (*stdioRelay, error) {
	l, err := newLoop()
	if err != nil {
		return nil, err
	}
	nested, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		l.close()
		return nil, fmt.Errorf("watching the ranks' output: %w", err)
	}
	r := &stdioRelay{loop: l, events: events, pipes: nested, ended: make(chan struct{})}
	r.input.loop = l
	r.body.Mark = &r.mark
	r.message.Message = &stewardpb.FromSteward_Output{Output: &r.body}
	return r, nil
}

// run serves until stop.
func (r *stdioRelay) run() {
	defer close(r.ended)
	defer r.release()
	for !r.stopped {
		events, err := r.wait(r.resumeAt)
		if err != nil {
			r.events.lost(fmt.Sprintf("the output of the ranks is lost: %v", err))
			return
		}
		for i := range events {
			r.handle(tagOf(&events[i]), events[i].Events)
		}
		r.settle()
	}
}

func (r *stdioRelay) handle(t tag, events uint32) {
	switch t.kind {
	case kindWake:
		r.runPosted()
	case kindPeer:
		if r.reader != nil && r.reader.id == t.index {
			r.serveReader(events)
		}
	case kindOutputs:
		r.readOutputs()
	case kindInput:
		if events&unix.EPOLLERR != 0 {
			r.input.onReaderGone(int(t.index))
			return
		}
		r.input.writeSink(int(t.index))
	case kindOutput, kindListener, kindPMI, kindExit, kindPMIxListener, kindPMIx, kindPath:
	}
}

// attach makes p the reader. It has all output up to the number has, and gets later output again.
// It may have sent more than its first message.
func (r *stdioRelay) attach(p *peer, has uint64) {
	r.detach()
	if err := p.join(r.loop); err != nil {
		p.close()
		return
	}
	r.reader, r.lastQueued, r.drained, r.inputReported = p, false, false, 0
	r.events.reader(true)
	r.kept.acknowledge(has)
	r.reader.queueFrame(r.kept.all())
	if has == 0 && !r.notifyEnds() {
		return
	}
	r.takeInput()
}

// notifyEnds tells a new reader, without a number, which streams ended before it came. Ends that
// are kept come with the output instead. It returns false if the reader is lost.
func (r *stdioRelay) notifyEnds() bool {
	for i := range r.outputs {
		o := &r.outputs[i]
		if !o.ended || !o.hasData || r.kept.has(o.endNumber) {
			continue
		}
		r.mark.Sequence = 0
		r.body.Rank, r.body.Stream, r.body.Data, r.body.Eof = o.rank, o.stream, nil, true
		if err := r.reader.queue(&r.message); err != nil {
			r.detach()
			return false
		}
	}
	return true
}

func (r *stdioRelay) detach() {
	if r.reader == nil {
		return
	}
	r.reader.leave()
	r.reader.close()
	r.reader = nil
	r.events.reader(false)
}

func (r *stdioRelay) serveReader(events uint32) {
	if events&(unix.EPOLLIN|unix.EPOLLHUP|unix.EPOLLERR) == 0 {
		return
	}
	if err := r.reader.receive(); err != nil {
		r.detach()
		return
	}
	r.takeInput()
}

// settle ends a batch of events: it writes what waits, and starts or stops watching the pipes.
func (r *stdioRelay) settle() {
	r.serveAttached()
	if r.onRenewed != nil {
		r.renew()
	}
	if err := r.updateReading(); err != nil {
		r.events.lost(fmt.Sprintf("the output of the ranks is lost: %v", err))
	}
}

// serveAttached takes input from the reader, if there is one, and sends it the waiting output.
func (r *stdioRelay) serveAttached() {
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
	if r.lastQueued && !r.drained && r.reader.unsent() == 0 {
		r.drained = true
		r.events.drained()
	}
}

// flushReader queues reports for the reader, and writes everything that waits for it.
func (r *stdioRelay) flushReader() error {
	if err := r.notifyInput(); err != nil {
		return err
	}
	if err := r.queueLast(); err != nil {
		return err
	}
	return r.reader.flush()
}

// queueLast queues the last message once every stream has ended, including the inputs: a program
// that has closed its output may go on reading.
func (r *stdioRelay) queueLast() error {
	if r.lastQueued || !r.allAdded || r.open > 0 || r.input.stillOpen() {
		return nil
	}
	last := &stewardpb.FromSteward{Message: &stewardpb.FromSteward_Drained{Drained: true}}
	if err := r.reader.queue(last); err != nil {
		return err
	}
	r.lastQueued = true
	return nil
}

// stop ends run; output that the reader has not taken by now is lost.
func (r *stdioRelay) stop() { r.stopped = true }

// release closes everything. The files have their last lines by then.
func (r *stdioRelay) release() {
	r.detach()
	if r.files != nil {
		r.files.close(func(error) {}) // with streams still open, whose loss was reported or intended
	}
	for i := range r.outputs {
		closeFD(r.outputs[i].fd)
	}
	r.input.close()
	closeFD(r.pipes)
	r.close()
}
