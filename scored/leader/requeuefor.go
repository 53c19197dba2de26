package leader

import (
	"fmt"

	"go.uber.org/zap"

	"score/scored/api/protocol"
)

// How a job goes back into the queue because somebody wants it to.

// requeueFor ends the job's ranks to begin it anew, whatever it was submitted with. Asking again
// while that goes on changes nothing.
func (c *controller) requeueFor(j *job, by, reason string) error {
	if err := c.lacks(protocol.Orders); err != nil {
		return err
	}
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
	c.log("job is requeued", zap.Uint64("job", j.id), zap.String("by", by), zap.String("reason", reason))
	if j.state == starting && !j.inherited {
		c.orderRequeue(j, because)
		j.restarting = true // which does not count as a start that failed
		c.withdraw(j, nil, because)
		return nil
	}
	c.giveBack(j, because)
	return nil
}

// keepEnded lets a job end that was to be begun anew, since its ranks may live on where a node was
// lost: without --requeue they have no lease that ends them.
func (c *controller) keepEnded(j *job, reason string) {
	j.again, j.restarting = "", false
	j.verdict = verdict(nodeLost, exitCluster, "job %d was ended while it was being requeued: %s; %s", j.id, reason, j.whatNow())
	c.orderEnd(j, j.verdict)
}
