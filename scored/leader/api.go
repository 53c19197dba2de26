package leader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"score/scored/api"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"score/scored/state"
	"slices"

	"golang.org/x/sys/unix"
)

func (c Caller) mayControl(id uint64, owner *scorev1.Identity) error {
	if c.controls(owner) {
		return nil
	}
	return fmt.Errorf("%w: job %d belongs to %s; only its owner and operators may do that", ErrDenied, id, owner.GetUser())
}

func noJob(id uint64) error {
	return fmt.Errorf("%w: there is no job %d, or it ended long ago", ErrNoJob, id)
}

// Submit commits a job and returns its id. It refuses a job that the cluster could never run, or
// that is beyond the user's limits. The spec must have been validated.
func (l *Leader) Submit(ctx context.Context, spec *scorev1.JobSpec, user *scorev1.Identity, caller Caller) (uint64, error) {
	return consult(ctx, l, func(c *controller, answer func(uint64, error)) { c.submit(spec, user, caller, answer) })
}

// Requeue ends the ranks of a job and puts it back into the queue; by is the name of the user who
// asks. It returns once that is decided, not when it is done.
func (l *Leader) Requeue(ctx context.Context, id uint64, caller Caller, by, reason string) error {
	return l.control(ctx, id, caller, func(c *controller, j *job) error { return c.requeueFor(j, by, reason) })
}

// control applies an action that the job's owner may do, and returns when all that was decided is
// committed.
func (l *Leader) control(ctx context.Context, id uint64, caller Caller, act func(*controller, *job) error) error {
	_, err := consult(ctx, l, func(c *controller, answer func(struct{}, error)) {
		j := c.jobs[id]
		over := j == nil || j.over()
		var refusal error
		if !over {
			refusal = caller.mayControl(id, j.user)
		}
		if !over && refusal == nil {
			refusal = act(c, j)
		}
		// A refusal too may depend on what is not committed yet.
		c.call(func(err error) {
			if err == nil && over {
				err = l.overOrUnknown(id)
			}
			answer(struct{}{}, cmp.Or(err, refusal))
		})
	})
	return err
}

func (l *Leader) overOrUnknown(id uint64) error {
	if l.finished(id) != nil {
		return fmt.Errorf("%w: job %d has ended already", ErrState, id)
	}
	return noJob(id)
}

// finished returns the committed record of a job that is done, or nil.
func (l *Leader) finished(id uint64) (record *state.Job) {
	l.options.Replica.Read(func(s *state.State) { record = s.Job(id) })
	if record != nil && record.Phase != state.Done {
		return nil
	}
	return record
}

// Cancel ends a job, and gives its ranks time to end by themselves. It returns once that is
// decided, not when it is done. Repeated cancellations get the same answer, so that a caller who
// lost an answer may ask again.
func (l *Leader) Cancel(ctx context.Context, id uint64, caller Caller, name string) error {
	return l.cancel(ctx, id, caller, name, (*controller).terminate)
}

// Kill is like Cancel, but gives the ranks no time, even if they have some left.
func (l *Leader) Kill(ctx context.Context, id uint64, caller Caller, name string) error {
	return l.cancel(ctx, id, caller, name, (*controller).killNow)
}

func (l *Leader) cancel(ctx context.Context, id uint64, caller Caller, name string, end func(*controller, *job, *scorev1.Verdict)) error {
	err := l.control(ctx, id, caller, func(c *controller, j *job) error {
		end(c, j, verdict(cancelled, exitEnded, "the job was cancelled by %s", name))
		return nil
	})
	if errors.Is(err, ErrState) {
		if record := l.finished(id); record != nil && record.Verdict.GetReason() == cancelled && caller.controls(record.User) {
			return nil
		}
	}
	return err
}

// Signal sends a signal to all ranks of a running job.
func (l *Leader) Signal(ctx context.Context, id uint64, signal int32, caller Caller) error {
	if signal < 1 || signal > api.MaxSignal {
		return fmt.Errorf("%w: there is no signal %d", ErrInvalid, signal)
	}
	return l.control(ctx, id, caller, func(c *controller, j *job) error { return c.signal(j, signal) })
}

// signal forwards a signal to a job and to all jobs that it spawned. If the job does not run yet, a
// signal that would end the program ends the job; others are refused.
func (c *controller) signal(j *job, signal int32) error {
	if j.state == queued || j.state == starting {
		if !slices.Contains(endSignals, unix.Signal(signal)) {
			return fmt.Errorf("%w: job %d does not run yet; signals can be sent when it does", ErrState, j.id)
		}
		c.step(j, evStop{verdict(cancelled, exitSignal+signal, "the job was ended by signal %s before it ran", signalText(signal))})
		return nil
	}
	if j.state == ending && j.graceUntil == 0 {
		return nil
	}
	for _, p := range j.parts {
		if n := c.nodes[p.Node]; n != nil && !p.done {
			c.send(n.link, signalMessage(&agentpb.SignalRanks{JobId: j.id, Signal: signal}))
		}
	}
	for _, child := range j.children {
		_ = c.signal(child, signal) // those that do not run yet get none
	}
	return nil
}

func signalMessage(m *agentpb.SignalRanks) *agentpb.ServerMessage {
	return &agentpb.ServerMessage{Message: &agentpb.ServerMessage_Signal{Signal: m}}
}

// endSignals are the signals that ask a program to end.
var endSignals = []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGKILL}

// Job returns one job, with what its nodes report while it runs. Its owner also gets the
// environment.
func (l *Leader) Job(ctx context.Context, id uint64, caller Caller) (*scorev1.GetJobResponse, error) {
	view, err := observe(ctx, l, func(c *controller) *scorev1.GetJobResponse {
		j := c.jobs[id]
		if j == nil || j.state == done {
			return nil
		}
		view := c.jobView(j, c.waitingFor(j))
		view.AlsoRows, view.Start = c.guestRows()[j.id], j.startTrace()
		if view.Idle != nil {
			view.Idle.Waits = waitsOf(j)
		}
		if caller.mayControl(id, j.user) == nil {
			view.Spec = j.spec
		}
		return &scorev1.GetJobResponse{Job: view, Nodes: j.shares()}
	})
	if err != nil {
		return nil, err
	}
	if record := l.finished(id); view == nil && record != nil {
		view = &scorev1.GetJobResponse{Job: jobOf(record)}
		view.Job.Start = record.Start // not included in lists
	}
	if view != nil {
		view.Job = redactedFor(view.GetJob(), caller)
		return view, nil
	}
	return nil, noJob(id)
}

// RankStates asks the job's nodes what its ranks are doing. Only its owner and operators may.
func (l *Leader) RankStates(ctx context.Context, id uint64, caller Caller) ([]*scorev1.RankState, error) {
	return consult(ctx, l, func(c *controller, answer func([]*scorev1.RankState, error)) {
		j := c.jobs[id]
		if j == nil || !j.active() || !caller.controls(j.user) {
			answer(nil, nil)
			return
		}
		c.askRanks(j, func(states *scorev1.AttachEvent_RankStates) { answer(states.GetRanks(), nil) })
	})
}

// Explain returns sentences that say why a job waits, or where it runs.
func (l *Leader) Explain(ctx context.Context, id uint64, caller Caller) (*scorev1.ExplainJobResponse, error) {
	explained, err := observe(ctx, l, func(c *controller) *scorev1.ExplainJobResponse {
		if j := c.jobs[id]; j != nil && j.state != done {
			return c.explainTo(caller, j)
		}
		return nil
	})
	if err != nil || explained != nil {
		return explained, err
	}
	record := l.finished(id)
	if record == nil {
		return nil, noJob(id)
	}
	line := fmt.Sprintf("job %d has ended with exit code %d", id, record.Verdict.GetExitCode())
	if text := record.Verdict.GetMessage(); text != "" && caller.controls(record.User) {
		line += ": " + text
	}
	return &scorev1.ExplainJobResponse{Lines: []string{line}}, nil
}
