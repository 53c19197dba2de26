package leader

import (
	"fmt"
	"score/scored/api/protocol"
	"score/scored/api/scorev1"
	"score/scored/state"
	"score/scored/state/statepb"

	"google.golang.org/protobuf/proto"
)

// The verdict on a job is in the log before its ranks are killed: otherwise a new leader would
// think that killed ranks ended by themselves. See DESIGN.md, "Decided, then killed".

// orderEnd logs how a job ends before its ranks are killed. What a rank did need not be logged: its
// node reports it again to the next leader.
func (c *controller) orderEnd(j *job, v *scorev1.Verdict) {
	if c.protocol < protocol.Orders || v.GetRank() != noRank {
		return
	}
	c.propose(&statepb.Command{Command: &statepb.Command_OrderEnd{OrderEnd: &statepb.OrderEnd{JobId: j.id, Verdict: v}}})
}

// orderRequeue logs that a job is to restart before its ranks are killed, marks the job so, and
// returns the verdict with which its ranks end.
func (c *controller) orderRequeue(j *job, because string) *scorev1.Verdict {
	c.logRequeue(j, because)
	return j.endToRequeue(because)
}

func (c *controller) logRequeue(j *job, because string) {
	if c.protocol < protocol.Orders {
		return
	}
	c.propose(&statepb.Command{Command: &statepb.Command_OrderRequeue{OrderRequeue: &statepb.OrderRequeue{JobId: j.id, Because: because}}})
}

// resumeOrders carries out an earlier leader's orders for jobs that have places.
func (c *controller) resumeOrders(records []*state.Job) {
	for _, record := range records {
		j := c.jobs[record.ID]
		if j == nil || j.state != starting && j.state != running {
			continue
		}
		switch {
		case record.Ending != nil:
			c.resumeEnd(j, proto.Clone(record.Ending).(*scorev1.Verdict)) // records must not be changed
		case record.Ordered != "":
			c.becomeEnding(j, j.endToRequeue(record.Ordered))
		}
	}
}

// resumeEnd continues the end of a job. The log does not say how much of their time to end by
// themselves its ranks have had, so they get all of it.
func (c *controller) resumeEnd(j *job, v *scorev1.Verdict) {
	switch v.GetReason() {
	case timeLimit, cancelled:
		c.becomeTerminating(j, v)
	default:
		c.becomeEnding(j, v)
	}
}

// requireProtocol returns an error if the log is written in an older protocol.
func (c *controller) requireProtocol(version uint32) error {
	if c.protocol >= version {
		return nil
	}
	return fmt.Errorf(
		"%w: this needs protocol %d, and the log is written in protocol %d until all servers understand it; 'scored server list' shows which are to be upgraded",
		ErrState,
		version,
		c.protocol,
	)
}
