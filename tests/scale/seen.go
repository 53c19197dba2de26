package scale

import (
	"math"
	"score/ctxswitch"
	"score/gang"
	"slices"
	"time"
)

// unseen marks a boundary at which a node made no switch, or none that came to its end.
const unseen = math.MinInt64

// seen collects what the nodes' records say, in nanoseconds after the planned instant by the
// leader's clock.
type seen struct {
	slice    int64
	origin   int64 // of the first plan
	changed  int64 // origin of the second
	newcomer ctxswitch.JobID
	rows     []gang.RotationRow // of the first plan

	// by boundary of the first plan and node
	began, ran [][]int64
	change     []int64 // by node: when the newcomer ran
	// last are the last nodes of each boundary's gangs, by a gang's job.
	last []map[ctxswitch.JobID]lastNode

	flushes            Flushes
	missed, superseded uint64
	late               int
}

func newSeen(c *Config, k *cluster) *seen {
	s := &seen{slice: c.Slice.Nanoseconds(), origin: k.rotation.Origin, rows: k.rotation.Rows, change: blank(c.Nodes)}
	for range c.Boundaries {
		s.began, s.ran = append(s.began, blank(c.Nodes)), append(s.ran, blank(c.Nodes))
		s.last = append(s.last, make(map[ctxswitch.JobID]lastNode))
	}
	return s
}

func blank(n int) []int64 { return slices.Repeat([]int64{unseen}, n) }

// take reads the record of one switch.
func (s *seen) take(i int, n *node, r *ctxswitch.Record) {
	if r.Superseded {
		s.superseded++
		return
	}
	running := n.cluster(r.Running)
	if r.Version > 1 {
		if s.change[i] == unseen && slices.Contains(r.In, s.newcomer) {
			s.change[i] = running - s.changed
		}
		return
	}
	k := (r.Slot.Start - s.origin) / s.slice
	if r.Cause != ctxswitch.CauseBoundary || k < 0 || k >= int64(len(s.ran)) {
		return
	}
	s.began[k][i] = n.cluster(r.Planned+r.Wake().Nanoseconds()) - r.Slot.Start
	s.ran[k][i] = running - r.Slot.Start
	s.takeLast(s.last[k], s.ran[k][i], r)
}

func (s *seen) takeLast(last map[ctxswitch.JobID]lastNode, ran int64, r *ctxswitch.Record) {
	for _, id := range r.In {
		if l, ok := last[id]; !ok || ran > l.ran {
			last[id] = lastNode{ran, termsOf(r, ran)}
		}
	}
}

// leave takes what a node has counted.
func (s *seen) leave(n *node, late bool) {
	s.flushes.Clean += n.flushes.Clean
	s.flushes.CutOff += n.flushes.CutOff
	s.flushes.Held += n.flushes.Held
	if late {
		s.late++
	}
}

// result draws the conclusions.
func (s *seen) result(k *cluster) *Result {
	r := &Result{Clean: s.flushes.share(), Superseded: s.superseded, LatePlans: float64(s.late) / float64(len(k.ids))}
	gangs, lost := 0, int64(0)
	// Nobody has to stop at the first boundary, and after the last nobody was looked at.
	for at := 1; at+1 < len(s.ran); at++ {
		for _, id := range s.rows[at%len(s.rows)].Jobs {
			gangs++
			last, first, complete := s.gang(r, k, id, at)
			if !complete {
				r.Broken++
				lost += s.slice
				continue
			}
			r.Gang.Record(time.Duration(last))
			r.Terms.add(s.last[at][ctxswitch.JobID(id)].terms)
			lost += min(last-first, s.slice)
		}
	}
	r.Terms.divide(int(r.Gang.Count()))
	r.Missed = s.missed
	r.Lost = float64(lost) / float64(gangs) / float64(s.slice)
	for _, node := range k.places[gang.JobID(s.newcomer)] {
		at := s.change[k.index[node]]
		if at == unseen {
			r.Missed++
		}
		r.Change = max(r.Change, time.Duration(at))
	}
	return r
}

// gang evaluates one gang and one of its slices: when its last node ran, and when its first got the
// order to stop at the next boundary. It is not complete if a node made no switch.
func (s *seen) gang(r *Result, k *cluster, id gang.JobID, at int) (last, first int64, complete bool) {
	last, first, complete = math.MinInt64, math.MaxInt64, true
	for _, node := range k.places[id] {
		i := k.index[node]
		ran, stopped := s.ran[at][i], s.began[at+1][i]
		if ran == unseen || stopped == unseen {
			s.missed++
			complete = false
			continue
		}
		r.Node.Record(time.Duration(ran))
		last, first = max(last, ran), min(first, stopped)
	}
	return last, first, complete
}
