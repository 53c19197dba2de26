package stdiorelay

import (
	"errors"
	"fmt"
	"score/nodeagent/steward/loop"
	"time"

	"golang.org/x/sys/unix"
)

// begin takes a job.
func (r *Relay) begin(j *Job) {
	r.streams, r.files, r.affinity.cpus = j.Streams, j.Files, j.CPUs
	r.input.terminal = j.Terminal
	r.mark.JobId, r.mark.Attempt, r.mark.NodeIndex = j.ID, j.Attempt, j.NodeIndex
}

// add takes the pipes of the next streams and of the same ranks' standard inputs.
func (r *Relay) add(fds, sinks []int) {
	for _, fd := range fds {
		r.streams[r.added].fd = fd
		r.added++
		r.open++
	}
	r.input.addSinks(sinks)
}

// watchPipes watches the pipes that have come since it succeeded.
func (r *Relay) watchPipes() error {
	for ; r.watched < r.added; r.watched++ {
		t := loop.Tag{Kind: kindOutput, Index: int32(r.watched)}
		if err := r.pipes.Watch(r.streams[r.watched].fd, unix.EPOLLIN, t); err != nil {
			return err
		}
	}
	return nil
}

// addRestarted takes the pipes of a rank that was started again. open opens the files of its
// streams, if the job has files.
func (r *Relay) addRestarted(rank uint32, fds, sinks []int, open func(*Files, *Stream) error) error {
	for i := range fds {
		o := NewStream(rank, Stdout+uint32(i))
		if r.files != nil {
			if err := open(r.files, &o); err != nil {
				return err
			}
		}
		r.streams = append(r.streams, o)
	}
	r.add(fds, sinks)
	r.input.closeAtEOF() // ranks that start after the end of the input get none
	return nil
}

// reopen records that more pipes may come, unless the last message was already queued.
func (r *Relay) reopen() {
	if !r.lastQueued && (r.files == nil || !r.files.closed) {
		r.allAdded = false
	}
}

// complete records that no more pipes will come. Streams without a pipe, of ranks that were never
// forked, have ended.
func (r *Relay) complete() {
	if r.allAdded {
		return
	}
	r.allAdded = true
	r.input.markComplete()
	for i := r.added; i < len(r.streams); i++ {
		r.streams[i].ended = true
	}
	r.closeFiles()
}

// mayRead reports whether there is room for more output and the pace allows reading it now.
func (r *Relay) mayRead() bool {
	r.resumeAt = time.Time{}
	if !r.hasRoom() {
		return false
	}
	now := time.Now()
	if r.reader == nil || r.pace.allows(now) {
		return true
	}
	r.resumeAt = r.pace.next(now)
	return false
}

// hasRoom reports whether there is room for more output.
func (r *Relay) hasRoom() bool {
	if r.open == 0 {
		return false
	}
	if r.files != nil {
		return true
	}
	return r.reader != nil && r.reader.Unsent() < outputHighWater && r.kept.size() < outputHighWater
}

// updateReading starts or stops watching the pipes, depending on whether they may be read now.
func (r *Relay) updateReading() error {
	want := r.mayRead()
	if want == r.reading {
		return nil
	}
	if want {
		if err := r.loop.Watch(r.pipes.FD(), unix.EPOLLIN, loop.Tag{Kind: kindOutputs}); err != nil {
			return err
		}
	} else {
		r.loop.Unwatch(r.pipes.FD())
	}
	r.reading = want
	return nil
}

// readOutputs reads once from each of a batch of pipes that have something.
func (r *Relay) readOutputs() {
	var events [loop.Batch]unix.EpollEvent
	for _, e := range r.pipes.Ready(&events) {
		if !r.mayRead() {
			return
		}
		r.readOutput(&r.streams[loop.TagOf(&e).Index])
	}
}

// readOutput reads once from a pipe, and stores and sends the output.
func (r *Relay) readOutput(o *Stream) {
	n, err := unix.Read(o.fd, r.buffer[:])
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return
	}
	ended := err != nil || n == 0 // any other error of a pipe will not go away
	if ended {
		n = 0
		r.endOutput(o)
	}
	o.hasData = o.hasData || n > 0
	r.affinity.charge(n)
	r.store(o, r.buffer[:n], ended)
	if ended {
		r.closeFiles()
	}
	if r.reader != nil && o.hasData {
		r.pace.charge(n)
		r.send(o, r.buffer[:n], ended)
	}
}

// endOutput closes the pipe of a stream that has ended.
func (r *Relay) endOutput(o *Stream) {
	r.pipes.Unwatch(o.fd)
	loop.CloseFD(o.fd)
	o.fd, o.ended = -1, true
	r.open--
}

// store adds output to its file. It reports a failure once per stream.
func (r *Relay) store(o *Stream, data []byte, ended bool) {
	if o.file == nil {
		return
	}
	if err := o.file.write(data, ended); err != nil {
		o.file, r.storeFailed = nil, true
		r.events.Lost(fmt.Sprintf("output of rank %d is lost: %v", o.Rank, err))
	}
}

// closeFiles closes the files once all streams have ended.
func (r *Relay) closeFiles() {
	if r.files == nil || !r.allAdded || r.open > 0 {
		return
	}
	r.files.Close(func(err error) {
		if !r.storeFailed {
			r.events.Lost(fmt.Sprintf("output is lost: %v", err))
		}
	})
}

// send queues output for the reader and reports whether there still is one. A
// detached job's reader that has fallen behind is dropped: the job must not
// wait for it, and its files have everything.
func (r *Relay) send(o *Stream, data []byte, eof bool) bool {
	if r.files != nil && r.reader.Unsent() >= outputHighWater {
		r.detach()
		return false
	}
	r.kept.last++
	r.mark.Sequence = r.kept.last
	r.body.Rank, r.body.Stream, r.body.Data, r.body.Eof = o.Rank, o.Number, data, eof
	if r.files != nil { // the files have it: nothing is kept for a later reader
		if err := r.reader.Queue(&r.message); err != nil {
			r.detach()
			return false
		}
		return true
	}
	frame, err := r.kept.add(r.kept.last, &r.message)
	if err != nil {
		r.detach()
		return false
	}
	if eof {
		o.endNumber = r.kept.last
	}
	r.reader.QueueFrame(frame)
	return true
}
