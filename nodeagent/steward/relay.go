package steward

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"score/nodeagent/steward/stewardpb"
	"score/scored/api/scorev1"
)

const (
	// outputChunk is the most output of one message, in bytes: half of what a
	// pipe holds, so that the writer goes on while it is carried away.
	outputChunk = 32 << 10
	// outputHighWater is how much output may wait for the reader, in bytes, before
	// the pipes are left alone and the ranks block: enough that a reader behind a
	// busy network always finds more, far below what a node would notice.
	outputHighWater = 256 << 10
	// stdoutStream and stderrStream number a rank's streams in messages.
	stdoutStream = 1
	stderrStream = 2
)

// relay carries the ranks' standard streams between their pipes and a reader,
// in a loop of its own: neither a slow disk under a detached job's files nor a
// flood of output delays PMI or a kill.
//
// An attached job's pipes are read only while the reader keeps up. A detached
// job's are always read, into files; a reader that does not keep up is dropped.
type relay struct {
	*loop
	events relayEvents
	reader *peer // at most one; the newest wins

	outputs []output
	added   int  // outputs that have got their pipe
	whole   bool // no more will
	open    int  // outputs whose pipe has not ended
	nested  int  // epoll set of the pipes: one change stops or starts reading all
	reading bool // nested is watched
	files   *files
	lost    bool // some output could not be stored, and the user was told
	input   input

	buffer  [outputChunk]byte
	message stewardpb.FromSteward // reused for output
	body    scorev1.Output
	last    bool // the last message is queued for the reader
	drained bool // the reader has it
	stopped bool
	ended   chan struct{}
}

// relayEvents is how the relay tells the rest of the steward; each is called on
// the relay's goroutine.
type relayEvents struct {
	reader  func(attached bool)
	drained func()
	note    func(text string) // a sentence for the user
}

// output is one stream of one rank.
type output struct {
	fd     int // -1: not there yet, or ended
	rank   uint32
	stream uint32
	ended  bool
	file   *fileStream // nil: none, or given up
}

func newRelay(events relayEvents) (*relay, error) {
	l, err := newLoop()
	if err != nil {
		return nil, err
	}
	nested, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		l.close()
		return nil, fmt.Errorf("watching the ranks' output: %w", err)
	}
	r := &relay{loop: l, events: events, nested: nested, ended: make(chan struct{})}
	r.input.loop = l
	r.message.Message = &stewardpb.FromSteward_Output{Output: &r.body}
	return r, nil
}

// run serves until stop.
func (r *relay) run() {
	defer close(r.ended)
	defer r.release()
	for !r.stopped {
		events, err := r.wait(time.Time{})
		if err != nil {
			r.events.note(fmt.Sprintf("the output of the ranks is lost: %v", err))
			return
		}
		for i := range events {
			r.handle(tagOf(&events[i]), events[i].Events)
		}
		r.settle()
	}
}

func (r *relay) handle(t tag, events uint32) {
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
		r.input.write(int(t.index))
	case kindOutput, kindListener, kindPMI:
	}
}

// begin gives the relay a job's streams, and its files, which are the relay's
// now. The pipes come later.
func (r *relay) begin(outputs []output, f *files) { r.outputs, r.files = outputs, f }

// add gives the relay the pipes of the next outputs, and the ways to the
// standard inputs of the same ranks.
func (r *relay) add(fds, sinks []int) error {
	var failed error
	for _, fd := range fds {
		r.outputs[r.added].fd = fd
		event := tag{kindOutput, int32(r.added)}
		failed = errors.Join(failed, control(r.nested, unix.EPOLL_CTL_ADD, fd, unix.EPOLLIN, event))
		r.added++
		r.open++
	}
	r.input.add(sinks)
	return failed
}

// complete tells that no more pipes will come. Streams that have none, of ranks
// that were never forked, have ended.
func (r *relay) complete() {
	r.whole = true
	r.input.begin()
	for i := r.added; i < len(r.outputs); i++ {
		o := &r.outputs[i]
		o.ended = true
		if r.reader != nil {
			r.send(o, nil, true)
		}
	}
	r.closeFiles()
}

// attach makes p the reader. It may have sent more than its first message.
func (r *relay) attach(p *peer) {
	r.detach()
	if err := p.join(r.loop); err != nil {
		p.close()
		return
	}
	r.reader, r.last, r.drained = p, false, false
	r.events.reader(true)
	for i := range r.outputs {
		if o := &r.outputs[i]; o.ended && !r.send(o, nil, true) {
			return
		}
	}
	r.takeInput()
}

func (r *relay) detach() {
	if r.reader == nil {
		return
	}
	r.reader.leave()
	r.reader.close()
	r.reader = nil
	r.events.reader(false)
}

func (r *relay) serveReader(events uint32) {
	if events&(unix.EPOLLIN|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		if err := r.reader.receive(); err != nil {
			r.detach()
			return
		}
		r.takeInput()
	}
}

// settle puts the relay at rest after a batch of events: what waits is written,
// and the pipes are watched or left alone.
func (r *relay) settle() {
	if r.reader != nil && r.input.ready() {
		r.takeInput()
	}
	if r.reader != nil {
		r.finish()
		if err := r.reader.flush(); err != nil {
			r.detach()
		}
	}
	if r.reader != nil && r.last && !r.drained && r.reader.unsent() == 0 {
		r.drained = true
		r.events.drained()
	}
	if err := r.watchOutputs(); err != nil {
		r.events.note(fmt.Sprintf("the output of the ranks is lost: %v", err))
	}
}

// finish queues the last message once every stream has ended.
func (r *relay) finish() {
	if r.last || !r.whole || r.open > 0 {
		return
	}
	last := &stewardpb.FromSteward{Message: &stewardpb.FromSteward_Drained{Drained: true}}
	if err := r.reader.queue(last); err != nil {
		r.detach()
		return
	}
	r.last = true
}

// mayRead tells whether there is a place for more output.
func (r *relay) mayRead() bool {
	if r.open == 0 {
		return false
	}
	if r.files != nil {
		return true
	}
	return r.reader != nil && r.reader.unsent() < outputHighWater
}

func (r *relay) watchOutputs() error {
	if want := r.mayRead(); want == r.reading {
		return nil
	} else if want {
		r.reading = true
		return r.watch(r.nested, unix.EPOLLIN, tag{kind: kindOutputs})
	}
	r.reading = false
	r.unwatch(r.nested)
	return nil
}

// readOutputs reads once from each of a batch of pipes that have something.
func (r *relay) readOutputs() {
	var events [eventBatch]unix.EpollEvent
	n, err := unix.EpollWait(r.nested, events[:], 0)
	if err != nil {
		return // EINTR: the set is level-triggered and will say it again
	}
	for i := range events[:n] {
		if !r.mayRead() {
			return
		}
		r.readOutput(&r.outputs[events[i].Pad])
	}
}

func (r *relay) readOutput(o *output) {
	n, err := unix.Read(o.fd, r.buffer[:])
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return
	}
	ended := err != nil || n == 0 // any other error of a pipe will not go away
	if ended {
		n = 0
		closeFD(o.fd) // leaves the nested set by itself
		o.fd, o.ended = -1, true
		r.open--
	}
	r.store(o, r.buffer[:n], ended)
	if r.reader != nil {
		r.send(o, r.buffer[:n], ended)
	}
}

// store adds output to its file. What cannot be stored is told once per stream.
func (r *relay) store(o *output, data []byte, ended bool) {
	if o.file == nil {
		return
	}
	if err := o.file.write(data, ended); err != nil {
		o.file, r.lost = nil, true
		r.events.note(fmt.Sprintf("output of rank %d is lost: %v", o.rank, err))
	}
	r.closeFiles()
}

// closeFiles closes the files once all streams have ended.
func (r *relay) closeFiles() {
	if r.files == nil || !r.whole || r.open > 0 {
		return
	}
	if err := r.files.close(); err != nil && !r.lost {
		r.events.note(fmt.Sprintf("output is lost: %v", err))
	}
}

// send queues output for the reader and tells whether there still is one. A
// detached job's reader that has fallen behind is dropped: the job must not
// wait for it, and its files have everything.
func (r *relay) send(o *output, data []byte, eof bool) bool {
	if r.files != nil && r.reader.unsent() >= outputHighWater {
		r.detach()
		return false
	}
	r.body.Rank, r.body.Stream, r.body.Data, r.body.Eof = o.rank, o.stream, data, eof
	if err := r.reader.queue(&r.message); err != nil {
		r.detach()
		return false
	}
	return true
}

// stop ends run; what the reader has not taken by now is lost.
func (r *relay) stop() { r.stopped = true }

// release closes everything. The files have their last lines by then.
func (r *relay) release() {
	r.detach()
	if r.files != nil {
		_ = r.files.close() // with streams still open, whose loss was told or wanted
	}
	for i := range r.outputs {
		closeFD(r.outputs[i].fd)
	}
	r.input.close()
	closeFD(r.nested)
	r.close()
}
