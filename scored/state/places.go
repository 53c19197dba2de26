package state

import (
	"fmt"
	"score/scored/state/statepb"
	"slices"
)

func (s *State) allocate(c *statepb.Allocate, now int64) error {
	job, err := s.jobIn(c.GetJobId(), Queued)
	if err != nil {
		return err
	}
	switch {
	case job.Withheld():
		return fmt.Errorf("%w: job %d may not start yet", ErrPhase, job.ID)
	case c.GetRow() < 0:
		return fmt.Errorf("%w: row %d", ErrCommand, c.GetRow())
	}
	places, err := s.places(c.GetPlaces(), job.Spec.GetTasks())
	if err != nil {
		return err
	}
	next := *job
	next.Phase, next.Row, next.Places, next.Gang = Allocated, c.GetRow(), places, c.GetGang()
	next.Allocated = now
	next.Attempts++
	next.HeldCPUs = s.held(job, places, c.GetGang())
	put(s, s.jobs, job.ID, &next)
	return nil
}

// places checks that every rank has exactly one place, on CPUs that exist.
func (s *State) places(from []*statepb.Place, tasks uint32) ([]Place, error) {
	places := make([]Place, 0, len(from))
	placed, seenNodes := uint32(0), make(map[string]bool, len(from))
	seen := make([]bool, tasks)
	for _, p := range from {
		node := s.nodes[p.GetNode()]
		switch {
		case node == nil:
			return nil, fmt.Errorf("%w: %q", ErrUnknownNode, p.GetNode())
		case seenNodes[node.Name]:
			return nil, fmt.Errorf("%w: two places on %q", ErrPlaces, node.Name)
		case len(p.GetRanks()) == 0 || !ascending(p.GetRanks()):
			return nil, fmt.Errorf("%w: ranks on %q are not ascending", ErrPlaces, node.Name)
		case len(p.GetCpus()) == 0 || !ascending(p.GetCpus()) || slices.Max(p.GetCpus()) >= node.CPUs:
			return nil, fmt.Errorf("%w: CPUs of %q are not ascending below %d", ErrPlaces, node.Name, node.CPUs)
		}
		seenNodes[node.Name] = true
		for _, rank := range p.GetRanks() {
			if rank >= tasks || seen[rank] {
				return nil, fmt.Errorf("%w: rank %d of %d", ErrPlaces, rank, tasks)
			}
			seen[rank] = true
			placed++
		}
		places = append(places, Place{Node: node.Name, Ranks: p.GetRanks(), CPUs: p.GetCpus(), BootID: node.BootID})
	}
	if placed != tasks {
		return nil, fmt.Errorf("%w: %d of %d ranks", ErrPlaces, placed, tasks)
	}
	return places, nil
}

func ascending(values []uint32) bool {
	for i := 1; i < len(values); i++ {
		if values[i-1] >= values[i] {
			return false
		}
	}
	return true
}
