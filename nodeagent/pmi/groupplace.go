package pmi

import (
	"cmp"
	"fmt"
	"slices"
)

// place determines the nodes of the group. It asks for the places of unknown jobs; groupsPlaced
// calls it again after the answer.
func (e *Engine) place(g *group) error {
	at := make(map[address]bool)
	waits := false
	for _, p := range g.procs {
		rankNode := e.info.RankNode
		if p.Job != e.info.Job {
			other, err := e.otherJob(p.Job)
			if err != nil {
				return err
			}
			if rankNode = other.rankNode; rankNode == nil {
				waits = true
				continue
			}
		}
		if p.Rank >= len(rankNode) {
			return fmt.Errorf("%w: rank %d of job %d, which has %d", ErrMalformed, p.Rank, p.Job, len(rankNode))
		}
		e.placeProc(g, at, p, rankNode)
	}
	if waits {
		g.members = nil
		return nil
	}
	g.placed = true
	for a := range at {
		g.nodes = append(g.nodes, a)
	}
	slices.SortFunc(g.nodes, func(x, y address) int {
		return cmp.Or(cmp.Compare(x.job, y.job), cmp.Compare(x.node, y.node))
	})
	e.onGroupPlaced(g)
	return nil
}

func (e *Engine) placeProc(g *group, at map[address]bool, p Proc, rankNode []int32) {
	ranks := rankNode
	first := 0
	if p.Rank != wholeJob {
		ranks, first = rankNode[p.Rank:p.Rank+1], p.Rank
	}
	for i, node := range ranks {
		a := address{p.Job, int(node)}
		at[a] = true
		if a == e.here() {
			g.members = append(g.members, first+i)
		}
	}
}

func (e *Engine) here() address { return address{e.info.Job, e.info.NodeIndex} }

// groupsPlaced continues with the groups that waited for places.
func (e *Engine) groupsPlaced() {
	for _, g := range e.sortedGroups() {
		if g.placed {
			continue
		}
		if err := e.place(g); err != nil || e.lacksPlaces(g) {
			g.broken = true
			e.finish(g, Missing)
			continue
		}
		e.advance(g)
	}
}

// lacksPlaces reports whether a job of the group cannot be found.
func (e *Engine) lacksPlaces(g *group) bool {
	return slices.ContainsFunc(g.procs, func(p Proc) bool {
		other := e.jobs[p.Job]
		return other != nil && other.failed
	})
}
