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
	fd     int // -1: not there yet, or ended
	rank   uint32
	stream uint32
	ended  bool
	endAt  uint64      // number of the message that kept its end; 0: none did
	said   bool        // something has come from it; the end of a silent stream is not reported
	file   *fileStream // nil: none, or given up
}

// begin gives the relay a job's streams, its CPUs, and its files, which are the relay's
// now. The pipes come later.
func (r *relay) begin(order *scorev1.Prepare, cpus []int, outputs []output, f *files) {
	r.outputs, r.files, r.keep.cpus = outputs, f, cpus
	r.input.terminal = order.GetSpec().GetTerminal() != nil
	r.mark.JobId, r.mark.Attempt, r.mark.NodeIndex = order.GetJobId(), order.GetAttempt(), order.GetNodeIndex()
}

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

// complete reports that no more pipes will come. Streams that have none, of ranks
// that were never forked, have ended.
func (r *relay) complete() {
	if r.whole {
		return
	}
	r.whole = true
	r.input.begin()
	for i := r.added; i < len(r.outputs); i++ {
		r.outputs[i].ended = true
	}
	r.closeFiles()
}

// mayRead reports whether there is a place for more output, and whether it may be read now.
func (r *relay) mayRead() bool {
	r.resume = time.Time{}
	if !r.hasRoom() {
		return false
	}
	now := time.Now()
	if r.reader == nil || r.pace.allows(now) {
		return true
	}
	r.resume = r.pace.next(now)
	return false
}

// hasRoom reports whether there is a place for more output.
func (r *relay) hasRoom() bool {
	if r.open == 0 {
		return false
	}
	if r.files != nil {
		return true
	}
	return r.reader != nil && r.reader.unsent() < outputHighWater && r.kept.waiting() < outputHighWater
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

// unnest takes a pipe out of the nested set. Closing it does not: while a rank
// is between fork and exec it has a copy of every descriptor, and the kernel
// keeps what is watched until the last copy is gone.
func (r *relay) unnest(fd int) {
	// It fails only for what is not watched, which is what was wanted.
	_ = unix.EpollCtl(r.nested, unix.EPOLL_CTL_DEL, fd, nil)
}

func (r *relay) readOutput(o *output) {
	n, err := unix.Read(o.fd, r.buffer[:])
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return
	}
	ended := err != nil || n == 0 // any other error of a pipe will not go away
	if ended {
		n = 0
		r.unnest(o.fd)
		closeFD(o.fd)
		o.fd, o.ended = -1, true
		r.open--
	}
	o.said = o.said || n > 0
	r.keep.took(n)
	r.store(o, r.buffer[:n], ended)
	if ended {
		r.closeFiles()
	}
	if r.reader != nil && o.said {
		r.pace.took(n)
		r.send(o, r.buffer[:n], ended)
	}
}

// store adds output to its file. It reports a failure once per stream.
func (r *relay) store(o *output, data []byte, ended bool) {
	if o.file == nil {
		return
	}
	if err := o.file.write(data, ended); err != nil {
		o.file, r.lost = nil, true
		r.events.lost(fmt.Sprintf("output of rank %d is lost: %v", o.rank, err))
	}
}

// closeFiles closes the files once all streams have ended.
func (r *relay) closeFiles() {
	if r.files == nil || !r.whole || r.open > 0 {
		return
	}
	r.files.close(func(err error) {
		if !r.lost {
			r.events.lost(fmt.Sprintf("output is lost: %v", err))
		}
	})
}

// send queues output for the reader and reports whether there still is one. A
// detached job's reader that has fallen behind is dropped: the job must not
// wait for it, and its files have everything.
func (r *relay) send(o *output, data []byte, eof bool) bool {
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
		o.endAt = r.kept.last
	}
	r.reader.queueFrame(frame)
	return true
}
