package state

import (
	"fmt"
	"score/scored/state/statepb"
	"slices"
)

// Withheld reports whether the job may not get places yet.
func (j *Job) Withheld() bool { return j.Hold != nil || len(j.Unmet) > 0 }

func (s *State) holdJob(c *statepb.HoldJob) error {
	job, err := s.jobIn(c.GetJobId(), Queued)
	if err != nil {
		return err
	}
	next := *job
	next.Hold = c.GetHold()
	put(s, s.jobs, job.ID, &next)
	return nil
}

// meet satisfies the dependencies of queued jobs on a job.
func (s *State) meet(on JobID, jobs []uint64) error {
	for _, id := range jobs {
		job, err := s.jobIn(id, Queued)
		if err != nil {
			return err
		}
		at, found := slices.BinarySearch(job.Unmet, on)
		if !found {
			return fmt.Errorf("%w: job %d does not wait for job %d", ErrCommand, id, on)
		}
		next := *job
		next.Unmet = slices.Concat(job.Unmet[:at], job.Unmet[at+1:])
		put(s, s.jobs, id, &next)
	}
	return nil
}

// checkUnmet refuses dependencies on the job itself or on later jobs, and numbers that are not
// ascending.
func checkUnmet(id JobID, unmet []JobID) error {
	last := JobID(0)
	for _, on := range unmet {
		if on <= last || on >= id {
			return fmt.Errorf("%w: job %d waits for jobs %v", ErrCommand, id, unmet)
		}
		last = on
	}
	return nil
}
