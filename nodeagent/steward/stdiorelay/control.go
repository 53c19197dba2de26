package stdiorelay

import (
	"fmt"
	"score/nodeagent/steward/peer"
	"time"
)

// Job is what a relay must know of a job.
type Job struct {
	ID        uint64
	Attempt   uint32
	NodeIndex uint32
	// CPUs are those of the job's ranks; none: the kernel chooses.
	CPUs []int
	// Terminal is set if the input goes to a terminal.
	Terminal bool
	// Streams are those to come, in the order of the ranks. The relay owns them and Files.
	Streams []Stream
	// Files are those of a detached job, nil: somebody reads the streams.
	Files *Files
}

// The following may be called by any goroutine. Each is carried out on the relay's, in the order of
// the calls.

// Begin gives the relay a job, whose pipes come later.
func (r *Relay) Begin(j *Job) { r.loop.Post(func() { r.begin(j) }) }

// Add gives the relay the pipes of the next streams and of the same ranks' standard inputs.
func (r *Relay) Add(fds, sinks []int) {
	r.loop.Post(func() { r.add(fds, sinks) })
}

// AddRestarted is like Add, for a rank that was started again. open opens the files of its streams,
// if the job has files.
func (r *Relay) AddRestarted(rank uint32, fds, sinks []int, open func(*Files, *Stream) error) {
	r.loop.Post(func() {
		if err := r.addRestarted(rank, fds, sinks, open); err != nil {
			r.events.Lost(fmt.Sprintf("output of rank %d is lost: %v", rank, err))
		}
	})
}

// InputComplete says that no more inputs will come; pipes of output may.
func (r *Relay) InputComplete() { r.loop.Post(r.input.markComplete) }

// Complete says that no more pipes will come.
func (r *Relay) Complete() { r.loop.Post(r.complete) }

// Reopen says that more pipes may come again.
func (r *Relay) Reopen() { r.loop.Post(r.reopen) }

// StoreLine appends a line to the file of a stream, if it has one. It does not report errors.
func (r *Relay) StoreLine(stream int, line []byte) {
	r.loop.Post(func() {
		if stream < len(r.streams) {
			_ = r.streams[stream].StoreLine(line)
		}
	})
}

// Attach makes p the reader, which has all output up to the number has.
func (r *Relay) Attach(p *peer.Peer, has uint64) { r.loop.Post(func() { r.attach(p, has) }) }

// Acknowledge says that the reader's side has all output up to this number.
func (r *Relay) Acknowledge(number uint64) { r.loop.Post(func() { r.kept.acknowledge(number) }) }

// SetPace bounds how fast output is read, in bytes per second; 0: no bound.
func (r *Relay) SetPace(rate uint64) { r.loop.Post(func() { r.pace.set(time.Now(), rate) }) }

// Renew makes the relay forget its job once all streams have ended, and then call f. clean reports
// whether nothing is left of them; if not, the relay cannot have another job.
func (r *Relay) Renew(f func(clean bool)) { r.loop.Post(func() { r.onRenewed = f }) }

// Stop ends Run, and waits for its end. Output that the reader has not taken by now is lost.
func (r *Relay) Stop() {
	r.loop.Post(func() { r.stopped = true })
	<-r.ended
}
