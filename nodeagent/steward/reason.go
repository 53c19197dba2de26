package steward

import (
	"fmt"
	"score/nodeagent/steward/life"
	"score/nodeagent/steward/stdiorelay"
)

// Why a detached job could not start is in its output file, since nobody is attached to read it.
// The first node writes it, into the file of its first rank: the others may have the same file.

// noteReason records the reason of the kill that comes next.
func (s *steward) noteReason(reason string) {
	if s.job == nil {
		return
	}
	switch s.life.Phase() {
	case life.Preparing:
		s.job.killedFor.Store(&reason)
	case life.Ready:
		if s.job.writesReason() && s.job.order.GetKilledFor() == "" { // else it is written already
			s.relay.StoreLine(s.job.errorStream(0), s.job.reasonLine(reason))
		}
	case life.Free, life.Starting, life.Running, life.Sweeping, life.Over, life.Renewing, life.Gone:
	}
}

// writesReason reports whether this node writes why the job cannot start.
func (j *job) writesReason() bool {
	return j.spec.GetDetached() && j.order.GetJob().GetNodeIndex() == 0
}

// explain writes why the job was killed while it was prepared, or why its preparation failed, if
// either is so. It reports whether it did.
func (j *job) explain(failed error) bool {
	reason := j.killedFor.Load()
	switch {
	case reason != nil:
		j.storeReason(*reason)
	case failed != nil:
		j.storeReason(j.failure(failed))
	default:
		return false
	}
	return true
}

// storeReason writes why the job cannot start to its output file, which it opens if necessary. It
// does not report errors: the job's end carries the reason as well.
func (j *job) storeReason(reason string) {
	if !j.writesReason() {
		return
	}
	if j.files != nil {
		_ = j.outputs[j.errorStream(0)].StoreLine(j.reasonLine(reason))
		return
	}
	f, err := newJobFiles(j)
	if err != nil {
		return
	}
	defer f.Close(func(error) {})
	o := stdiorelay.NewStream(j.ranks[0].rank, stdiorelay.Stdout+uint32(j.errorStream(0)))
	if j.openOutput(f, &o) == nil {
		_ = o.StoreLine(j.reasonLine(reason))
	}
}

// errorStream returns the index in outputs of the error output of local rank k.
func (j *job) errorStream(k int) int { return (k+1)*j.streams() - 1 }

// reasonLine returns the line that says why the job cannot start.
func (j *job) reasonLine(reason string) []byte {
	return fmt.Appendf(nil, "score: job %d did not start: %s\n", j.id, reason)
}
