package leader

import (
	"fmt"
	"score/scored/api/protocol"
	"score/scored/api/scorev1"

	"go.uber.org/zap"
)

// How a user requeues a job.

// requeueFor ends the job's ranks and restarts it, whatever its options. Repeating the request
// meanwhile changes nothing.
func (c *controller) requeueFor(j *job, by, reason string) error {
	if err := c.requireProtocol(protocol.Orders); err != nil {
		return err
	}
	switch {
	case j.parents != 0:
		return fmt.Errorf("%w: job %d was spawned by job %d, and restarts with that job", ErrState, j.id, j.parents)
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
	c.log("job is requeued", zap.Uint64("job", j.id), zap.String("by", by), zap.String("reason", reason))
	c.becomeEnding(j, c.endForRequeue(j, because))
	c.finishIfDone(j)
	return nil
}

// endForRequeue returns the verdict with which the job's ranks end, if it has any yet.
func (c *controller) endForRequeue(j *job, because string) *scorev1.Verdict {
	if j.state == starting && !j.inherited {
		v := c.withdraw(j, nil, because)
		j.restarting = true // so that this does not count as a failed start
		return v
	}
	return c.orderRequeue(j, because)
}

// endInsteadOfRequeue ends a job that was to restart. On a lost node its ranks may live on, since
// without --requeue they have no lease.
func (c *controller) endInsteadOfRequeue(j *job, reason string) {
	j.again, j.restarting = "", false
	j.verdict = verdict(nodeLost, exitCluster, "job %d was ended while it was being requeued: %s; %s", j.id, reason, j.lossHint())
	c.orderEnd(j, j.verdict)
}
