package state

import (
	"fmt"
	"score/scored/state/statepb"
	"slices"
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
	put(s, s.names, key, &Name{UID: key.uid, Service: key.service, Port: c.GetPort(), Job: job.ID, Once: c.GetOnce(), By: nameRequest(c.GetBy())})
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
	key := nameKey{job.User.GetUid(), c.GetService()}
	gone := s.names[key]
	put(s, s.names, key, nil)
	next := *job
	next.names = slices.Delete(slices.Clone(job.names), i, i+1)
	put(s, s.jobs, job.ID, &next)
	port := ""
	if gone.Once {
		s.keepAnswer(gone.By, "")
		port = gone.Port
	}
	s.keepAnswer(nameRequest(c.GetBy()), port)
	return nil
}

// keepAnswer keeps the answer to a request, and drops the oldest answers beyond the bounds.
func (s *State) keepAnswer(by NameRequest, port string) {
	job := s.jobs[by.Job]
	if job == nil || job.Phase != Allocated && job.Phase != Running {
		return // the job has no processes that could ask again, or the request is unknown
	}
	next := *job
	next.Answers = append(slices.Clone(job.Answers), NameAnswer{by.Node, by.Number, port})
	bytes := 0
	for i := len(next.Answers) - 1; i >= 0; i-- {
		bytes += len(next.Answers[i].Port)
		if len(next.Answers)-i > MaxAnswersPerJob || bytes > MaxAnswerBytes {
			next.Answers = next.Answers[i+1:]
			break
		}
	}
	put(s, s.jobs, job.ID, &next)
}

func nameRequest(r *statepb.NameRequest) NameRequest {
	return NameRequest{r.GetJobId(), r.GetNode(), r.GetRequest()}
}

func (r NameRequest) proto() *statepb.NameRequest {
	if r == (NameRequest{}) {
		return nil
	}
	return &statepb.NameRequest{JobId: r.Job, Node: r.Node, Request: r.Number}
}

// unpublishAll removes a job's published names and the answers kept for it; next is the job's new
// record.
func (s *State) unpublishAll(next *Job) {
	for _, service := range next.names {
		put(s, s.names, nameKey{next.User.GetUid(), service}, nil)
	}
	next.names, next.Answers = nil, nil
}
