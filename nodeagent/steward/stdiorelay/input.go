package stdiorelay

import (
	"errors"
	"score/nodeagent/steward/loop"
	"score/nodeagent/steward/stewardpb"
	"score/nodeagent/steward/terminal"
	"score/scored/api"
	"score/scored/api/scorev1"

	"golang.org/x/sys/unix"
)

// endOfInput is what a person types at a terminal to end the input (VEOF, ^D): the first character
// completes a line that has begun, the second ends the input.
const endOfInput = "\x04\x04"

// input delivers what the user types to one rank or to all. One message is delivered at a time, and
// the next is taken only when every rank has it: that is the bound and the back-pressure.
//
//	unfinished is the number of sinks that wait; a sink that waits is open
//	written <= len(chunk) for each sink that waits
type input struct {
	loop     *loop.Loop
	sinks    []sink
	allAdded bool // no more sinks will come

	chunk      []byte // is being delivered
	unfinished int
	eof        bool // the sinks are closed after chunk

	terminal bool // the sinks are terminals, at which a character ends the input

	// accepted is the offset in the input after the last chunk. Input before it, which a new reader
	// may send again, is dropped.
	accepted uint64
	hasBase  bool // accepted is set, by the first message: an earlier attempt of the job got the input before it

	refused error // the kernel refused to watch a sink that waits; nil: it did not
}

// sink is the write end of one rank's standard input.
type sink struct {
	fd      int  // -1 once the rank reads no more
	written int  // bytes of the chunk
	waiting bool // for more of the chunk
}

// addSinks adds the write ends of some ranks' pipes.
func (in *input) addSinks(fds []int) {
	for _, fd := range fds {
		in.sinks = append(in.sinks, sink{fd: fd})
	}
}

// markComplete records that all sinks are there.
func (in *input) markComplete() { in.allAdded = true }

// ready reports whether the next message may be taken.
func (in *input) ready() bool { return in.allAdded && in.unfinished == 0 }

// accept begins to deliver the new part of a message.
func (in *input) accept(m *scorev1.Stdin) {
	if size := m.GetResize(); size != nil {
		in.resizeTerminals(size)
	}
	data := m.GetData()
	if m.Offset == nil {
		in.deliver(data, m.GetEof())
		return
	}
	if !in.hasBase {
		in.hasBase, in.accepted = true, m.GetOffset()
	}
	end := api.InputEnd(m)
	if m.GetOffset() > in.accepted || end <= in.accepted {
		return // nothing is new; senders resume at what was taken, so there is no gap
	}
	data = data[min(in.accepted-m.GetOffset(), uint64(len(data))):]
	in.accepted = end
	in.deliver(data, m.GetEof())
}

// delivered returns the offset up to which all ranks have the input.
func (in *input) delivered() (offset uint64, known bool) { return in.accepted, in.unfinished == 0 }

// deliver begins to deliver data. If no rank reads, the data is dropped, as by a shell whose pipe
// has lost its reader.
func (in *input) deliver(data []byte, eof bool) {
	if eof && in.terminal {
		data, eof = append(data, endOfInput...), false
	}
	in.chunk, in.eof = data, in.eof || eof
	for i := range in.sinks {
		if in.sinks[i].fd < 0 {
			continue
		}
		in.sinks[i].written = 0
		in.sinks[i].waiting = true
		in.unfinished++
	}
	for i := range in.sinks {
		if in.sinks[i].waiting {
			in.writeSink(i)
		}
	}
	in.closeAtEOF()
}

// writeSink writes as much of the chunk as one sink takes.
func (in *input) writeSink(i int) {
	s := &in.sinks[i]
	if !s.waiting {
		return
	}
	for s.written < len(in.chunk) {
		n, err := unix.Write(s.fd, in.chunk[s.written:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if errors.Is(err, unix.EAGAIN) {
			in.watchSink(i)
			return
		}
		if err != nil { // every process that had the rank's input closed it
			in.dropSink(s)
			return
		}
		s.written += n
	}
	in.loop.Unwatch(s.fd)
	in.sinkDone(s)
}

// watchSink waits until a sink takes more of the chunk.
func (in *input) watchSink(i int) {
	t := loop.Tag{Kind: kindInput, Index: int32(i)}
	if in.loop.ChangeWatch(in.sinks[i].fd, unix.EPOLLOUT, t) == nil {
		return
	}
	if err := in.loop.Watch(in.sinks[i].fd, unix.EPOLLOUT, t); err != nil { // it was not watched
		in.refused = err
	}
}

// retryRefused writes the sinks again if the kernel refused to watch one of them.
func (in *input) retryRefused() {
	if in.refused == nil {
		return
	}
	in.refused = nil
	for i := range in.sinks {
		in.writeSink(i)
	}
}

func (in *input) dropSink(s *sink) {
	in.closeSink(s)
	in.sinkDone(s)
}

// closeSink closes the input of one rank.
func (in *input) closeSink(s *sink) {
	if s.fd < 0 {
		return
	}
	in.loop.Unwatch(s.fd)
	loop.CloseFD(s.fd)
	s.fd = -1
}

// stillOpen reports whether a rank may still read. It makes the loop report when none does; a
// terminal ends with its output.
func (in *input) stillOpen() bool {
	if in.terminal {
		return false
	}
	open := false
	for i := range in.sinks {
		s := &in.sinks[i]
		if s.fd < 0 {
			continue
		}
		open = true
		if !s.waiting {
			_ = in.loop.Watch(s.fd, 0, loop.Tag{Kind: kindInput, Index: int32(i)}) // an error is always reported; otherwise the job's end closes it
		}
	}
	return open
}

// onReaderGone records that nobody can read one rank's input any more.
func (in *input) onReaderGone(i int) {
	s := &in.sinks[i]
	if s.waiting {
		in.dropSink(s)
		return
	}
	in.closeSink(s)
}

// sinkDone records that s needs no more of the chunk.
func (in *input) sinkDone(s *sink) {
	s.waiting = false
	in.unfinished--
	in.closeAtEOF()
}

func (in *input) closeAtEOF() {
	if in.eof && in.unfinished == 0 {
		in.close()
	}
}

func (in *input) close() {
	for i := range in.sinks {
		in.closeSink(&in.sinks[i])
	}
}

// resizeTerminals sets the size of the terminals.
func (in *input) resizeTerminals(size *scorev1.Terminal) {
	for i := range in.sinks {
		if in.terminal && in.sinks[i].fd >= 0 {
			_ = terminal.Resize(in.sinks[i].fd, size) // the programs there have ended
		}
	}
}

// notifyInput tells the reader how much input the ranks have: at first, if that is any, and
// whenever it grows. Most jobs end without input, and so without a message.
func (r *Relay) notifyInput() error {
	offset, known := r.input.delivered()
	if !known || r.lastQueued || offset == r.inputReported {
		return nil
	}
	r.inputReported = offset
	return r.reader.Queue(&stewardpb.FromSteward{Message: &stewardpb.FromSteward_InputTaken{InputTaken: offset}})
}

// takeInput delivers the reader's messages as long as it can. Then it stops reading until the ranks
// have read.
func (r *Relay) takeInput() {
	for r.input.ready() {
		var m stewardpb.ToSteward
		ok, err := r.reader.Next(&m)
		if err != nil {
			r.detach()
			return
		}
		if !ok {
			break
		}
		if in := m.GetStdin(); in != nil {
			r.input.accept(in)
		}
	}
	var err error
	if r.input.ready() {
		err = r.reader.ResumeReading()
	} else {
		err = r.reader.PauseReading()
	}
	if err != nil {
		r.detach()
	}
}
