package state

import (
	"fmt"
	"score/scored/api/environ"
	"score/scored/api/scorev1"
	"score/scored/state/statepb"
	"slices"
)

func (s *State) submit(c *statepb.Submit, now int64) error {
	switch {
	case c.GetJobId() != s.nextJob:
		return fmt.Errorf("%w: %d, not %d", ErrJobID, c.GetJobId(), s.nextJob)
	case c.GetSpec().GetTasks() == 0 || c.GetUser() == nil:
		return fmt.Errorf("%w: a job needs tasks and a user", ErrCommand)
	case s.Unfinished() >= MaxUnfinished:
		return fmt.Errorf("%w: %d unfinished jobs", ErrTooMany, MaxUnfinished)
	}
	if err := checkUnmet(c.GetJobId(), c.GetUnmet()); err != nil {
		return err
	}
	spec, err := s.specOf(c)
	if err != nil {
		return err
	}
	if err := s.noteKey(c, now); err != nil {
		return err
	}
	job := &Job{
		ID: c.GetJobId(), Spec: spec, User: c.GetUser(), Parent: c.GetParentJob(),
		Preput: pairsFromProto(c.GetPreput()), MemoryPerNode: c.GetMemoryPerNodeBytes(),
		Phase: Queued, Submitted: now, Row: -1, SpawnedBy: nameRequest(c.GetSpawnedBy()),
		Hold: c.GetHold(), Unmet: c.GetUnmet(),
	}
	s.shareEnvironment(job)
	put(s, s.jobs, job.ID, job)
	s.nextJob++
	s.undo = append(s.undo, func() { s.nextJob-- })
	return nil
}

// specOf returns the spec of the submitted job. A job that inherits shares the strings of its
// parent, since a parent can have many children.
func (s *State) specOf(c *statepb.Submit) (*scorev1.JobSpec, error) {
	if !c.GetInherits() {
		return c.GetSpec(), nil
	}
	parent, err := s.jobIn(c.GetParentJob(), Allocated, Running)
	if err != nil {
		return nil, err
	}
	spec := withoutEnvironment(c.GetSpec())
	spec.Staged = c.GetSpec().GetStaged()
	spec.Env = environ.Override(parent.Spec.GetEnv(), c.GetSpec().GetEnv())
	spec.Limits = parent.Spec.GetLimits()
	return spec, nil
}

// jobIn returns the job if it is in one of the phases.
func (s *State) jobIn(id JobID, phases ...Phase) (*Job, error) {
	job := s.jobs[id]
	if job == nil {
		return nil, fmt.Errorf("%w: %d", ErrUnknownJob, id)
	}
	if !slices.Contains(phases, job.Phase) {
		return nil, fmt.Errorf("%w: job %d is in %v", ErrPhase, id, job.Phase)
	}
	return job, nil
}

func (s *State) moveRow(c *statepb.MoveRow) error {
	job, err := s.jobIn(c.GetJobId(), Allocated, Running)
	if err != nil {
		return err
	}
	if c.GetRow() < 0 {
		return fmt.Errorf("%w: row %d", ErrCommand, c.GetRow())
	}
	next := *job
	next.Row = c.GetRow()
	put(s, s.jobs, job.ID, &next)
	return nil
}

// requeue charges the attempt's usage; the next attempt is charged only what it adds.
func (s *State) requeue(c *statepb.Requeue, now int64) error {
	job, err := s.jobIn(c.GetJobId(), Allocated, Running)
	if err != nil {
		return err
	}
	if job.Phase == Running && !c.GetRestart() {
		return fmt.Errorf("%w: job %d has run", ErrPhase, job.ID)
	}
	next := *job
	next.Usage = atLeast(c.GetUsage(), job.Usage)
	s.book(job, next.Usage, 0, now)
	next.Earlier = next.Usage
	next.Phase, next.Started = Queued, 0
	next.Row, next.Places, next.Gang, next.HeldCPUs, next.Allocated = -1, nil, 0, 0, 0
	if c.GetRestart() {
		next.Restarts++
	}
	next.Because, next.Ordered, next.Ending = c.GetBecause(), "", nil
	s.unpublishAll(&next)
	put(s, s.jobs, job.ID, &next)
	return nil
}

func (s *State) orderRequeue(c *statepb.OrderRequeue) error {
	job, err := s.jobIn(c.GetJobId(), Allocated, Running)
	if err != nil {
		return err
	}
	if c.GetBecause() == "" {
		return fmt.Errorf("%w: no reason", ErrCommand)
	}
	next := *job
	next.Ordered, next.Ending = c.GetBecause(), nil
	put(s, s.jobs, job.ID, &next)
	return nil
}

func (s *State) orderEnd(c *statepb.OrderEnd) error {
	job, err := s.jobIn(c.GetJobId(), Allocated, Running)
	if err != nil {
		return err
	}
	if c.GetVerdict() == nil {
		return fmt.Errorf("%w: no verdict", ErrCommand)
	}
	next := *job
	next.Ordered, next.Ending = "", c.GetVerdict()
	put(s, s.jobs, job.ID, &next)
	return nil
}

func (s *State) markRunning(c *statepb.MarkRunning) error {
	job, err := s.jobIn(c.GetJobId(), Allocated)
	if err != nil {
		return err
	}
	next := *job
	next.Phase, next.Started = Running, c.GetStartedNanos()
	put(s, s.jobs, job.ID, &next)
	return s.meet(job.ID, c.GetMet())
}

func (s *State) end(c *statepb.End, now int64) error {
	job, err := s.jobIn(c.GetJobId(), Queued, Allocated, Running)
	if err != nil {
		return err
	}
	if c.GetVerdict() == nil {
		return fmt.Errorf("%w: no verdict", ErrCommand)
	}
	next := *job
	next.Phase, next.Row, next.Ended = Done, -1, now
	next.Verdict, next.Usage, next.Start = c.GetVerdict(), atLeast(c.GetUsage(), job.Usage), c.GetStart()
	s.book(job, next.Usage, 1, now)
	next.Spec = finishedSpec(job.Spec)
	next.Preput, next.Ordered, next.Ending = nil, "", nil
	next.Hold, next.Unmet = nil, nil
	s.unpublishAll(&next)
	put(s, s.jobs, job.ID, &next)
	s.keepFinished(&next)
	s.keepKey(job.ID)
	return s.meet(job.ID, c.GetMet())
}
