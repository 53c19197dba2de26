package leader

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"score/scored/api/scorev1"
	"score/scored/state"
)

// Caller is who asks, as the kernel told.
type Caller struct {
	UID uint32
	// Admin may do to any job what its owner may.
	Admin bool
}

func (c Caller) mayControl(id uint64, owner *scorev1.Identity) error {
	if c.Admin || c.UID == owner.GetUid() {
		return nil
	}
	return fmt.Errorf("%w: job %d belongs to %s; only its owner and root may do that", ErrDenied, id, owner.GetUser())
}

func noJob(id uint64) error {
	return fmt.Errorf("%w: there is no job %d, or it ended long ago", ErrNoJob, id)
}

// Submit commits a job and gives its id. It is refused with a sentence if the
// cluster could never run it. The spec must have been validated.
func (l *Leader) Submit(ctx context.Context, spec *scorev1.JobSpec, user *scorev1.Identity) (uint64, error) {
	return consult(ctx, l, func(b *brain, answer func(uint64, error)) { b.submit(spec, user, answer) })
}

// control does something to a job that its owner may do, and answers when all
// that was decided is committed.
func (l *Leader) control(ctx context.Context, id uint64, caller Caller, act func(*brain, *job) error) error {
	_, err := consult(ctx, l, func(b *brain, answer func(struct{}, error)) {
		j := b.jobs[id]
		if j == nil || j.state == done {
			answer(struct{}{}, l.overOrUnknown(id))
			return
		}
		err := caller.mayControl(id, j.user)
		if err == nil {
			err = act(b, j)
		}
		if err != nil {
			answer(struct{}{}, err)
			return
		}
		b.call(func(err error) { answer(struct{}{}, err) })
	})
	return err
}

func (l *Leader) overOrUnknown(id uint64) error {
	if l.finished(id) != nil {
		return fmt.Errorf("%w: job %d has ended already", ErrState, id)
	}
	return noJob(id)
}

// finished is the committed record of a job that is done, or nil.
func (l *Leader) finished(id uint64) (record *state.Job) {
	l.options.Replica.Read(func(s *state.State) { record = s.Job(id) })
	if record != nil && record.Phase != state.Done {
		return nil
	}
	return record
}

// Cancel ends a job. It answers when that is decided, not when it is done.
func (l *Leader) Cancel(ctx context.Context, id uint64, caller Caller, name string) error {
	return l.control(ctx, id, caller, func(b *brain, j *job) error {
		b.step(j, evStop{verdict(cancelled, exitEnded, "the job was cancelled by %s", name)})
		return nil
	})
}

// Signal sends a signal to all ranks of a job that runs.
func (l *Leader) Signal(ctx context.Context, id uint64, signal int32, caller Caller) error {
	if signal < 1 || signal > maxSignal {
		return fmt.Errorf("%w: there is no signal %d", ErrInvalid, signal)
	}
	return l.control(ctx, id, caller, func(b *brain, j *job) error { return b.signal(j, signal) })
}

// maxSignal is the last real-time signal of Linux.
const maxSignal = 64

// signal forwards a signal to a job and to all it spawned. Before a job runs
// there is nobody to get it; one that would end the program ends the job.
func (b *brain) signal(j *job, signal int32) error {
	if j.state == queued || j.state == starting {
		if !slices.Contains(enders, unix.Signal(signal)) {
			return fmt.Errorf("%w: job %d does not run yet; signals can be sent when it does", ErrState, j.id)
		}
		b.step(j, evStop{verdict(cancelled, exitSignal+signal, "the job was ended by signal %s before it ran", signalText(signal))})
		return nil
	}
	if j.state != running {
		return nil // it is being ended
	}
	for _, p := range j.parts {
		if n := b.nodes[p.Node]; n != nil && !p.done {
			b.send(n.link, &scorev1.ServerMessage{Message: &scorev1.ServerMessage_Signal{
				Signal: &scorev1.SignalRanks{JobId: j.id, Signal: signal},
			}})
		}
	}
	for _, child := range j.children {
		_ = b.signal(child, signal) // those that do not run yet get none
	}
	return nil
}

// enders are the signals by which users and systems ask a program to end.
var enders = []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGKILL}

// Jobs lists the jobs by id, with the finished ones if all is set, and only
// those of one user unless user is empty.
func (l *Leader) Jobs(ctx context.Context, all bool, user string) ([]*scorev1.Job, error) {
	jobs, err := consult(ctx, l, func(b *brain, answer func([]*scorev1.Job, error)) {
		views := b.jobViews()
		b.call(func(err error) { answer(views, err) })
	})
	if err != nil {
		return nil, err
	}
	jobs = slices.DeleteFunc(jobs, func(j *scorev1.Job) bool { return j.GetState() == done })
	if all {
		l.options.Replica.Read(func(s *state.State) {
			for _, record := range s.Jobs() {
				if record.Phase == state.Done {
					jobs = append(jobs, JobOf(record))
				}
			}
		})
	}
	slices.SortStableFunc(jobs, func(x, y *scorev1.Job) int { return cmp.Compare(x.GetId(), y.GetId()) })
	// A job that ended between the two looks is in both; its end counts.
	latest := jobs[:0]
	for i, j := range jobs {
		if i+1 < len(jobs) && jobs[i+1].GetId() == j.GetId() {
			continue
		}
		if user == "" || j.GetUser().GetUser() == user {
			latest = append(latest, j)
		}
	}
	return latest, nil
}

// Job is one job; its owner sees the environment too.
func (l *Leader) Job(ctx context.Context, id uint64, caller Caller) (*scorev1.Job, error) {
	view, err := consult(ctx, l, func(b *brain, answer func(*scorev1.Job, error)) {
		j := b.jobs[id]
		if j == nil || j.state == done {
			b.call(func(err error) { answer(nil, err) })
			return
		}
		view := b.jobView(j, b.waitingFor(j))
		view.AlsoRows = b.guestRows()[j.id]
		if caller.mayControl(id, j.user) == nil {
			view.Spec = j.spec
		}
		b.call(func(err error) { answer(view, err) })
	})
	if err != nil || view != nil {
		return view, err
	}
	if record := l.finished(id); record != nil {
		return JobOf(record), nil
	}
	return nil, noJob(id)
}

// RankStates asks the job's nodes what its ranks are doing.
func (l *Leader) RankStates(ctx context.Context, id uint64) ([]*scorev1.RankState, error) {
	return consult(ctx, l, func(b *brain, answer func([]*scorev1.RankState, error)) {
		j := b.jobs[id]
		if j == nil || !j.active() {
			answer(nil, nil)
			return
		}
		b.askRanks(j, func(states *scorev1.AttachEvent_RankStates) { answer(states.GetRanks(), nil) })
	})
}

// Explain says in sentences why a job waits or where it runs.
func (l *Leader) Explain(ctx context.Context, id uint64) (*scorev1.ExplainJobResponse, error) {
	explained, err := consult(ctx, l, func(b *brain, answer func(*scorev1.ExplainJobResponse, error)) {
		var explained *scorev1.ExplainJobResponse
		if j := b.jobs[id]; j != nil && j.state != done {
			explained = b.explain(j)
		}
		b.call(func(err error) { answer(explained, err) })
	})
	if err != nil || explained != nil {
		return explained, err
	}
	record := l.finished(id)
	if record == nil {
		return nil, noJob(id)
	}
	line := fmt.Sprintf("job %d has ended with exit code %d", id, record.Verdict.GetExitCode())
	if text := record.Verdict.GetMessage(); text != "" {
		line += ": " + text
	}
	return &scorev1.ExplainJobResponse{Lines: []string{line}}, nil
}

// Nodes lists the nodes by name.
func (l *Leader) Nodes(ctx context.Context) ([]*scorev1.Node, error) {
	return consult(ctx, l, func(b *brain, answer func([]*scorev1.Node, error)) {
		views := b.nodeViews()
		b.call(func(err error) { answer(views, err) })
	})
}

// Matrix shows the rows and what runs in each.
func (l *Leader) Matrix(ctx context.Context) (*scorev1.GetMatrixResponse, error) {
	return consult(ctx, l, func(b *brain, answer func(*scorev1.GetMatrixResponse, error)) {
		view := b.matrixView()
		b.call(func(err error) { answer(view, err) })
	})
}

// Version tells the program's version, the cluster and how many jobs it has.
func (l *Leader) Version(ctx context.Context) (*scorev1.GetVersionResponse, error) {
	return consult(ctx, l, func(b *brain, answer func(*scorev1.GetVersionResponse, error)) {
		view := b.versionView()
		b.call(func(err error) { answer(view, err) })
	})
}

// Settings are the cluster's.
func (l *Leader) Settings(ctx context.Context) (*scorev1.Settings, error) {
	return consult(ctx, l, func(b *brain, answer func(*scorev1.Settings, error)) {
		settings := b.settings
		b.call(func(err error) { answer(settings, err) })
	})
}

// SetSettings changes the named fields and gives all settings as they are then.
func (l *Leader) SetSettings(ctx context.Context, settings *scorev1.Settings, fields []string) (*scorev1.Settings, error) {
	return consult(ctx, l, func(b *brain, answer func(*scorev1.Settings, error)) { b.setSettings(settings, fields, answer) })
}

// Stats are counts for the metrics.
func (l *Leader) Stats(ctx context.Context) (Stats, error) {
	return consult(ctx, l, func(b *brain, answer func(Stats, error)) { answer(b.snapshotStats(), nil) })
}

// Attach begins an interest in a job. Whoever attaches must Close.
func (l *Leader) Attach(ctx context.Context, id uint64, options AttachOptions, caller Caller) (*Attachment, error) {
	return consult(ctx, l, func(b *brain, answer func(*Attachment, error)) {
		w := newAttachment(l, id, options)
		j := b.jobs[id]
		if j == nil {
			answer(l.attachFinished(w, caller))
			return
		}
		if err := caller.mayControl(id, j.user); err != nil {
			answer(nil, err)
			return
		}
		if err := b.attach(j, w); err != nil {
			answer(nil, err)
			return
		}
		answer(w, nil) // its events wait for the commit, each by itself
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
	w.deliver(endedEvent(record.Verdict))
	return w, nil
}

// Wait answers when the job is done.
func (l *Leader) Wait(ctx context.Context, id uint64) (*scorev1.Job, error) {
	w, err := l.Attach(ctx, id, AttachOptions{}, Caller{Admin: true})
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
				return JobOf(record), nil
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
	if signal < 1 || signal > maxSignal {
		return fmt.Errorf("%w: there is no signal %d", ErrInvalid, signal)
	}
	return a.do(ctx, func(b *brain, j *job) {
		if err := b.signal(j, signal); err != nil {
			b.notify(a, warning(err.Error()))
		}
	})
}

// Kill ends the job at its owner's wish.
func (a *Attachment) Kill(ctx context.Context) error {
	return a.do(ctx, func(b *brain, j *job) {
		b.step(j, evStop{verdict(cancelled, exitEnded, "the job was killed by its user")})
	})
}

// AskRanks calls for an event with the states of the ranks.
func (a *Attachment) AskRanks(ctx context.Context) error {
	return a.do(ctx, func(b *brain, j *job) {
		b.askRanks(j, func(states *scorev1.AttachEvent_RankStates) {
			b.notify(a, Event{Message: &scorev1.AttachEvent{Event: &scorev1.AttachEvent_RankStates_{RankStates: states}}})
		})
	})
}

// Read tells that all output of the job, or of one that it spawned, has been
// fetched: its nodes need not keep it.
func (a *Attachment) Read(ctx context.Context, job uint64) error {
	return a.leader.do(ctx, func(b *brain) { b.read(job) })
}

// do does something to the attachment's job while the brain knows it.
func (a *Attachment) do(ctx context.Context, act func(*brain, *job)) error {
	return a.leader.do(ctx, func(b *brain) {
		if j := b.jobs[a.job]; j != nil {
			act(b, j)
		}
	})
}

// Close ends the interest. Of a job's last owner it begins OwnerGrace.
func (a *Attachment) Close() {
	a.breakOff()
	// It returns an error only when the leader has stopped, and with it all
	// attachments.
	_ = a.leader.do(context.Background(), func(b *brain) { b.detach(a.job, a) })
}

// Connect begins an agent's stream. A refusal is a sentence for its log.
func (l *Leader) Connect(ctx context.Context, hello *scorev1.Hello, link Link) (refusal string, err error) {
	return consult(ctx, l, func(b *brain, answer func(string, error)) { answer(b.hello(hello, link), nil) })
}

// Receive handles a message of a connected agent.
func (l *Leader) Receive(ctx context.Context, node string, link Link, message *scorev1.AgentMessage) error {
	return l.do(ctx, func(b *brain) { b.message(node, link, message) })
}

// Disconnect ends an agent's stream.
func (l *Leader) Disconnect(node string, link Link) {
	// As in Close.
	_ = l.do(context.Background(), func(b *brain) { b.linkLost(node, link) })
}

func (b *brain) snapshotStats() Stats {
	s := b.stats
	s.Ended = make(map[scorev1.EndReason]uint64, len(b.stats.Ended))
	for reason, n := range b.stats.Ended {
		s.Ended[reason] = n
	}
	s.Rows = len(b.rotation.Rows)
	s.Jobs = make(map[scorev1.JobState]int)
	for _, j := range b.jobs {
		s.Jobs[j.state]++
	}
	for _, n := range b.nodes {
		if n.link != nil {
			s.NodesUp++
		}
	}
	return s
}
