package steward

import (
	"errors"
	"fmt"
	"score/scored/api/scorev1"
	"time"

	"golang.org/x/sys/unix"
)

// output is one stream of one rank.
type output struct {
	fd        int // -1: not there yet, or ended
	rank      uint32
	stream    uint32
	ended     bool
	endNumber uint64      // number of the kept message with its end; 0: none
	hasData   bool        // it has produced output; the end of a silent stream is not reported
	file      *fileStream // nil: none, or given up
}

// begin gives the relay a job's streams, its CPUs, and its files, which the relay owns from now on.
// The pipes come later.
func (r *stdioRelay) begin(order *scorev1.Prepare, cpus []int, outputs []output, f *files) {
	r.outputs, r.files, r.affinity.cpus = outputs, f, cpus
	r.input.terminal = order.GetSpec().GetTerminal() != nil
	r.mark.JobId, r.mark.Attempt, r.mark.NodeIndex = order.GetJobId(), order.GetAttempt(), order.GetNodeIndex()
}

// add gives the relay the pipes of the next outputs and of the same ranks' standard inputs.
func (r *stdioRelay) add(fds, sinks []int) error {
	var failed error
	for _, fd := range fds {
		r.outputs[r.added].fd = fd
		event := tag{kindOutput, int32(r.added)}
		failed = errors.Join(failed, control(r.pipes, unix.EPOLL_CTL_ADD, fd, unix.EPOLLIN, event))
		r.added++
		r.open++
	}
	r.input.addSinks(sinks)
	return failed
}

// complete records that no more pipes will come. Streams without a pipe, of ranks that were never
// forked, have ended.
func (r *stdioRelay) complete() {
	if r.allAdded {
		return
	}
	r.allAdded = true
	r.input.markComplete()
	for i := r.added; i < len(r.outputs); i++ {
		r.outputs[i].ended = true
	}
	r.closeFiles()
}

// mayRead reports whether there is room for more output and the pace allows reading it now.
func (r *stdioRelay) mayRead() bool {
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
func (r *stdioRelay) hasRoom() bool {
	if r.open == 0 {
		return false
	}
	if r.files != nil {
		return true
	}
	return r.reader != nil && r.reader.unsent() < outputHighWater && r.kept.size() < outputHighWater
}

// updateReading starts or stops watching the pipes, depending on whether they may be read now.
func (r *stdioRelay) updateReading() error {
	want := r.mayRead()
	if want == r.reading {
		return nil
	}
	r.reading = want
	if want {
		return r.watch(r.pipes, unix.EPOLLIN, tag{kind: kindOutputs})
	}
	r.unwatch(r.pipes)
	return nil
}

// readOutputs reads once from each of a batch of pipes that have something.
func (r *stdioRelay) readOutputs() {
	var events [eventBatch]unix.EpollEvent
	n, err := unix.EpollWait(r.pipes, events[:], 0)
	if err != nil {
		return // EINTR: the set is level-triggered and reports it again
	}
	for i := range events[:n] {
		if !r.mayRead() {
			return
		}
		r.readOutput(&r.outputs[events[i].Pad])
	}
}

// unwatchPipe removes a pipe from the set. Closing the pipe does not: while a rank is between fork
// and exec it has a copy of every descriptor, and the kernel watches a file until its last copy is
// closed.
func (r *stdioRelay) unwatchPipe(fd int) {
	// It fails only for a descriptor that is not watched, which is the goal.
	_ = unix.EpollCtl(r.pipes, unix.EPOLL_CTL_DEL, fd, nil)
}

// readOutput reads once from a pipe, and stores and sends the output.
func (r *stdioRelay) readOutput(o *output) {
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
func (r *stdioRelay) endOutput(o *output) {
	r.unwatchPipe(o.fd)
	closeFD(o.fd)
	o.fd, o.ended = -1, true
	r.open--
}

// store adds output to its file. It reports a failure once per stream.
func (r *stdioRelay) store(o *output, data []byte, ended bool) {
	if o.file == nil {
		return
	}
	if err := o.file.write(data, ended); err != nil {
		o.file, r.storeFailed = nil, true
		r.events.lost(fmt.Sprintf("output of rank %d is lost: %v", o.rank, err))
	}
}

// closeFiles closes the files once all streams have ended.
func (r *stdioRelay) closeFiles() {
	if r.files == nil || !r.allAdded || r.open > 0 {
		return
	}
	r.files.close(func(err error) {
		if !r.storeFailed {
			r.events.lost(fmt.Sprintf("output is lost: %v", err))
		}
	})
}

// send queues output for the reader and reports whether there still is one. A
// detached job's reader that has fallen behind is dropped: the job must not
// wait for it, and its files have everything.
func (r *stdioRelay) send(o *output, data []byte, eof bool) bool {
	if r.files != nil && r.reader.unsent() >= outputHighWater {
		r.detach()
		return false
	}
	r.kept.last++
	r.mark.Sequence = r.kept.last
	r.body.Rank, r.body.Stream, r.body.Data, r.body.Eof = o.rank, o.stream, data, eof
	if r.files != nil { // the files have it: nothing is kept for a later reader
		if err := r.reader.queue(&r.message); err != nil {
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
	r.reader.queueFrame(frame)
	return true
}
