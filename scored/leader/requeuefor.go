package leader

import (
	"fmt"

	"go.uber.org/zap"

	"score/scored/state"
	"score/scored/state/statepb"
)

// How a job goes back into the queue because somebody wants it to.

// requeueFor ends the job's ranks to begin it anew, whatever it was submitted with. Asking again while that goes on changes
// nothing.
func (b *brain) requeueFor(j *job, by, reason string) error {
	switch {
	case j.parents != 0:
		return fmt.Errorf("%w: job %d was spawned by job %d, and is begun anew with that one", ErrState, j.id, j.parents)
	case j.state == queued:
		return fmt.Errorf("%w: job %d waits in the queue", ErrState, j.id)
	case j.state == ending && j.again != "":
		return nil
	case j.state == ending || j.state == done:
		return fmt.Errorf("%w: job %d is being ended", ErrState, j.id)
	}
	because := "it was requeued by " + by
	if reason != "" {
		because += " (" + reason + ")"
	}
	// Committed before anything is killed, since a new leader would take the job for one that has ended.
	b.propose(&statepb.Command{Command: &statepb.Command_OrderRequeue{OrderRequeue: &statepb.OrderRequeue{JobId: j.id, Because: because}}})
	b.log("job is requeued", zap.Uint64("job", j.id), zap.String("by", by), zap.String("reason", reason))
	b.takeBack(j, because)
	return nil
}

// takeBack ends the job's ranks, and begins it anew when none is left.
func (b *brain) takeBack(j *job, because string) {
	if j.state == starting && !j.inherited {
		j.restarting = true // which does not count as a start that failed
		b.withdraw(j, nil, because)
		return
	}
	b.giveBack(j, because)
}

// goOnRequeuing takes the jobs back that an earlier leader was about to.
func (b *brain) goOnRequeuing(records []*state.Job) {
	for _, record := range records {
		if j := b.jobs[record.ID]; record.Ordered != "" && j != nil && (j.state == starting || j.state == running) {
			b.takeBack(j, record.Ordered)
		}
	}
}

// keepEnded lets a job end that was to be begun anew, since its ranks may live on where a node was lost: without
// --requeue they have no lease that ends them.
func (b *brain) keepEnded(j *job, reason string) {
	j.again, j.restarting = "", false
	j.verdict = verdict(nodeLost, exitCluster, "job %d was ended while it was being requeued: %s; %s", j.id, reason, j.whatNow())
}
