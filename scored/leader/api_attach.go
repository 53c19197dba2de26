package leader

import (
	"context"
	"fmt"
	"score/scored/api"
	"score/scored/api/scorev1"
)

// Attach attaches a client to a job. The caller must Close the attachment.
func (l *Leader) Attach(ctx context.Context, id uint64, options AttachOptions, caller Caller) (*Attachment, error) {
	return atOnce(ctx, l, func(c *controller) (*Attachment, error) { // each event waits for its own commit
		w := newAttachment(l, id, options)
		j := c.jobs[id]
		if j == nil {
			return l.attachFinished(w, caller)
		}
		if err := caller.mayControl(id, j.user); err != nil {
			return nil, err
		}
		if err := c.attach(j, w); err != nil {
			return nil, err
		}
		return w, nil
	})
}

func (l *Leader) attachFinished(w *Attachment, caller Caller) (*Attachment, error) {
	record := l.finished(w.job)
	if record == nil {
		return nil, noJob(w.job)
	}
	if err := caller.mayControl(w.job, record.User); err != nil {
		return nil, err
	}
	if w.options.Acknowledges && w.options.Output && record.Started != 0 && !record.Spec.GetDetached() && record.Attempts > w.options.Received {
		w.deliver(warning(fmt.Sprintf("the end of the output may be missing: no client fetched it for %v", OwnerGrace)))
		w.deliver(outputMissing())
	}
	w.deliver(endedEvent(record.Verdict))
	return w, nil
}

// Wait returns when the job is done, with what the caller may see of it.
func (l *Leader) Wait(ctx context.Context, id uint64, caller Caller) (*scorev1.Job, error) {
	// The attachment is used only for the end, which all users may know.
	w, err := l.Attach(ctx, id, AttachOptions{}, Caller{Role: scorev1.Role_ROLE_OPERATOR})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	for {
		select {
		case e := <-w.Events():
			if e.Message.GetEnded() == nil {
				continue
			}
			if record := l.finished(id); record != nil {
				return redactedFor(jobOf(record), caller), nil
			}
			return nil, noJob(id)
		case <-w.Broken():
			return nil, fmt.Errorf("%w; ask again", ErrLost)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Signal sends a signal to all ranks.
func (a *Attachment) Signal(ctx context.Context, signal int32) error {
	if signal < 1 || signal > api.MaxSignal {
		return fmt.Errorf("%w: there is no signal %d", ErrInvalid, signal)
	}
	return a.do(ctx, func(c *controller, j *job) {
		if err := c.signal(j, signal); err != nil {
			c.notify(a, warning(err.Error()))
		}
	})
}

// Kill ends the job at once on its owner's behalf.
func (a *Attachment) Kill(ctx context.Context) error {
	return a.do(ctx, func(c *controller, j *job) {
		c.killNow(j, verdict(cancelled, exitEnded, "the job was killed by its user"))
	})
}

// AskRanks requests an event with the states of the ranks.
func (a *Attachment) AskRanks(ctx context.Context) error {
	return a.do(ctx, func(c *controller, j *job) {
		c.askRanks(j, func(states *scorev1.AttachEvent_RankStates) {
			c.notify(a, Event{Message: &scorev1.AttachEvent{Event: &scorev1.AttachEvent_RankStates_{RankStates: states}}})
		})
	})
}

// Read records that all output of an attempt of the job, or of a spawned job, was fetched: nodes
// need not keep it.
func (a *Attachment) Read(ctx context.Context, job uint64, attempt uint32) error {
	return a.leader.do(ctx, func(c *controller) { c.read(job, attempt) })
}

// Address returns the present address of a source's agent, since a restarted agent may listen
// elsewhere. It returns "" if the source has no more output to fetch.
func (a *Attachment) Address(ctx context.Context, source *Source) string {
	address, err := atOnce(ctx, a.leader, func(c *controller) (string, error) {
		j, n := c.jobs[source.Job], c.nodes[source.Node]
		if j == nil || n == nil || j.forgotten || j.attempts != source.Attempt {
			return "", nil
		}
		if p := j.part(source.Node); p == nil || p.lost {
			return "", nil
		}
		return n.address, nil
	})
	if err != nil {
		return ""
	}
	return address
}

// MayHaveOutput reports whether a rank of the source's attempt may have run, or still may. A job
// whose ranks cannot be started is forgotten at once, and its nodes then refuse those who come for
// its output.
func (a *Attachment) MayHaveOutput(ctx context.Context, source *Source) bool {
	may, err := atOnce(ctx, a.leader, func(c *controller) (bool, error) {
		j := c.jobs[source.Job]
		return j == nil || j.attempts != source.Attempt || j.verdict == nil || j.started != 0 || len(j.exits) > 0, nil
	})
	return may || err != nil
}

// do applies an action to the attachment's job if the controller knows it.
func (a *Attachment) do(ctx context.Context, act func(*controller, *job)) error {
	return a.leader.do(ctx, func(c *controller) {
		if j := c.jobs[a.job]; j != nil {
			act(c, j)
		}
	})
}

// Close ends the attachment. If it was the job's last owner, OwnerGrace begins.
func (a *Attachment) Close() {
	a.breakOff()
	a.leader.post(func(c *controller) { c.detach(a.job, a) })
}
