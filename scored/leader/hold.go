package leader

import (
	"context"
	"fmt"
	"score/gang"
	"score/scored/api/protocol"
	"score/scored/api/scorev1"
	"score/scored/state/statepb"
	"strings"

	"go.uber.org/zap"
)

// Jobs that wait without being in the matrix: they are held, or other jobs must start or end first.
// DESIGN.md, "Withheld jobs".

// withheld reports whether a queued job is kept from the matrix.
func (j *job) withheld() bool { return j.hold != nil || len(j.unmet) > 0 }

// Hold keeps a waiting job from its start until it is released; by is the name of the caller.
func (l *Leader) Hold(ctx context.Context, id uint64, caller Caller, by string) error {
	return l.control(ctx, id, caller, func(c *controller, j *job) error {
		return c.hold(j, &scorev1.Hold{By: by, Operator: caller.UID != j.user.GetUid()})
	})
}

// Release lets a held job start.
func (l *Leader) Release(ctx context.Context, id uint64, caller Caller, by string) error {
	return l.control(ctx, id, caller, func(c *controller, j *job) error { return c.release(j, caller, by) })
}

// hold holds a job. An operator's hold stays if its owner holds it, too.
func (c *controller) hold(j *job, hold *scorev1.Hold) error {
	if err := c.requireProtocol(protocol.Holds); err != nil {
		return err
	}
	switch {
	case j.state != queued:
		return fmt.Errorf("%w: job %d does not wait any more; only a job that waits can be held", ErrState, j.id)
	case j.parents != 0:
		return fmt.Errorf("%w: job %d was spawned by job %d, and starts with that job", ErrState, j.id, j.parents)
	case j.hold.GetOperator() || j.hold != nil && !hold.GetOperator():
		return nil
	}
	c.setHold(j, hold, hold.GetBy())
	if c.gang.Remove(gang.JobID(j.id)) {
		c.placeDirty = true // jobs behind it need not wait for it
	}
	c.notifyState(j, c.waitingFor(j))
	return nil
}

func (c *controller) release(j *job, caller Caller, by string) error {
	switch {
	case j.hold == nil:
		return nil
	case j.hold.GetOperator() && !caller.operates():
		return fmt.Errorf("%w: job %d is held by %s; only operators and administrators can release it", ErrDenied, j.id, j.hold.GetBy())
	}
	c.setHold(j, nil, by)
	c.letStart(j)
	return nil
}

func (c *controller) setHold(j *job, hold *scorev1.Hold, by string) {
	j.hold = hold
	c.propose(&statepb.Command{Command: &statepb.Command_HoldJob{HoldJob: &statepb.HoldJob{JobId: j.id, Hold: hold}}})
	line := "job is held"
	if hold == nil {
		line = "job is released"
	}
	c.log(line, zap.Uint64("job", j.id), zap.String("by", by))
}

// letStart gives the matrix a job that nothing withholds any more. It was accepted at its
// submission, so it waits for nodes that have gone since.
func (c *controller) letStart(j *job) {
	if j.withheld() {
		return
	}
	j.request.Again = true
	if err := c.gang.Submit(j.request); err != nil {
		c.doom(j, verdict(cluster, exitCluster, "job %d fits no longer: %s; submit it again", j.id, plain(err)))
		return
	}
	c.placeDirty = true
	c.notifyState(j, "")
}

func (c *controller) letStartAll(jobs []*job) {
	for _, j := range jobs {
		c.letStart(j)
	}
}

// withheldFor returns what a withheld job waits for, in a few words.
func (j *job) withheldFor() string {
	var words []string
	if j.hold != nil {
		words = append(words, "its release: held by "+j.hold.GetBy())
	}
	return strings.Join(append(words, j.unmetWords()...), " and ")
}

// explainWithheld returns sentences about what withholds a job.
func (j *job) explainWithheld() *scorev1.ExplainJobResponse {
	reply := new(scorev1.ExplainJobResponse)
	var resources []string
	if j.hold != nil {
		who := "its owner and operators"
		if j.hold.GetOperator() {
			who = "only operators and administrators"
		}
		reply.Lines = append(reply.Lines, fmt.Sprintf("job %d is held by %s; %s can release it: 'scored job release %d'", j.id, j.hold.GetBy(), who, j.id))
		resources = append(resources, "release")
	}
	if words := j.unmetWords(); len(words) > 0 {
		reply.Lines = append(reply.Lines, fmt.Sprintf("job %d waits for %s", j.id, strings.Join(words, " and ")))
		resources = append(resources, "other jobs")
	}
	reply.Resource = strings.Join(resources, " and ")
	return reply
}
