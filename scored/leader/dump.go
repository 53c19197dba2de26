package leader

import (
	"context"
	"fmt"
	"score/scored/api/scorev1"
	"slices"
)

// DumpSources returns the nodes that have contexts of a running job, or of one of its ranks. The
// caller must control the job.
func (l *Leader) DumpSources(ctx context.Context, r *scorev1.DumpJobRequest, caller Caller) ([]*Source, error) {
	return atOnce(ctx, l, func(c *controller) ([]*Source, error) {
		jobs, err := l.jobsOf(c, r.GetJobId(), caller)
		switch {
		case err != nil:
			return nil, err
		case r.GetJobId() == 0 || jobs[0].state != running && jobs[0].state != ending:
			return nil, fmt.Errorf("%w: job %d does not run yet; it has no channels", ErrState, r.GetJobId())
		default:
			return c.dumpSources(jobs[0], r)
		}
	})
}

func (c *controller) dumpSources(j *job, r *scorev1.DumpJobRequest) (sources []*Source, err error) {
	if r.GetOneRank() && r.GetRank() >= j.spec.GetTasks() {
		return nil, fmt.Errorf("%w: job %d has no rank %d", ErrInvalid, j.id, r.GetRank())
	}
	for _, p := range j.parts {
		n := c.nodes[p.Node]
		if n == nil || p.done || r.GetOneRank() && !slices.Contains(p.Ranks, r.GetRank()) {
			continue
		}
		sources = append(sources, &Source{Job: j.id, Node: p.Node, Address: n.address})
	}
	return sources, nil
}
