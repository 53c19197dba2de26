package state

import (
	"fmt"
	"slices"

	"score/scored/state/statepb"
)

func (s *State) publish(c *statepb.PublishName) error {
	job, err := s.jobIn(c.GetJobId(), Allocated, Running)
	if err != nil {
		return err
	}
	key := nameKey{job.User.GetUid(), c.GetService()}
	switch {
	case s.names[key] != nil:
		return fmt.Errorf("%w: %q", ErrNameTaken, c.GetService())
	case len(job.names) >= MaxNamesPerJob:
		return fmt.Errorf("%w: %d names of one job", ErrTooMany, MaxNamesPerJob)
	}
	put(s, s.names, key, &Name{UID: key.uid, Service: key.service, Port: c.GetPort(), Job: job.ID, Once: c.GetOnce()})
	next := *job
	next.names = append(slices.Clone(job.names), c.GetService())
	put(s, s.jobs, job.ID, &next)
	return nil
}

func (s *State) unpublish(c *statepb.UnpublishName) error {
	job, err := s.jobIn(c.GetJobId(), Allocated, Running)
	if err != nil {
		return err
	}
	i := slices.Index(job.names, c.GetService())
	if i < 0 {
		return fmt.Errorf("%w: %q", ErrNameUnknown, c.GetService())
	}
	put(s, s.names, nameKey{job.User.GetUid(), c.GetService()}, nil)
	next := *job
	next.names = slices.Delete(slices.Clone(job.names), i, i+1)
	put(s, s.jobs, job.ID, &next)
	return nil
}

// unpublishAll takes away what a job has published, of whose record this is the next.
func (s *State) unpublishAll(next *Job) {
	for _, service := range next.names {
		put(s, s.names, nameKey{next.User.GetUid(), service}, nil)
	}
	next.names = nil
}
