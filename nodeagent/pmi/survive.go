package pmi

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// The attributes by which PMI-2 programs handle failed ranks. In the protocol a process may take
// the place of a failed one, but there are no attributes for that; DeadKey is hydra's.
const (
	// DeadKey lists the ranks that have failed and were not started again, "1,5" (job attribute; a
	// key of PMI-1).
	DeadKey = "PMI_dead_processes"
	// IncarnationsKey lists the ranks that were started again, and how often, "1:2,5:1" (job
	// attribute).
	IncarnationsKey = "PMI_incarnations"
	// RespawnKey is set by a rank to the number of times that it wants to be started again when it
	// fails (node attribute).
	RespawnKey = "PMI_respawn"
)

// MaxRespawns bounds the respawns that a rank may ask for.
const MaxRespawns = 1000

// failures holds the failed ranks of all nodes.
type failures struct {
	lost        map[int]bool
	incarnation map[int]int
	// given holds the number of fences that each node with lost ranks has contributed to.
	given map[int32]uint64
}

// AllFences stands for an unknown number of fences of a node. The exchange of its fences finds out.
const AllFences = math.MaxUint64

// AskRespawn records how often a rank wants to be started again when it fails; 0 cancels that. The
// error wraps ErrMalformed.
func (e *Engine) AskRespawn(rank, times int) error {
	if times < 0 || times > MaxRespawns {
		return fmt.Errorf("%w: %s is %d; it is a number from 0 to %d", ErrMalformed, RespawnKey, times, MaxRespawns)
	}
	e.state(rank).survives = times > 0 || e.info.Survive
	e.emit(Event{Kind: EventRespawn, Rank: rank, Code: times})
	return nil
}

func (e *Engine) askRespawn(rank int, value []byte) error {
	times, err := strconv.Atoi(string(value))
	if err != nil {
		return fmt.Errorf("%w: %s is %.32q; it is a number from 0 to %d", ErrMalformed, RespawnKey, value, MaxRespawns)
	}
	return e.AskRespawn(rank, times)
}

// Survives reports whether the job goes on when the rank, one of this node, fails.
func (e *Engine) Survives(rank int) bool { return e.state(rank).survives }

// FencesGiven returns the number of fences of all ranks that this node has contributed to.
func (e *Engine) FencesGiven() uint64 {
	if e.fence.exchanging {
		return e.fence.seq
	}
	return e.fence.seq - 1
}

// Lost records that a rank of any node has failed for good while the job goes on; given is
// FencesGiven of the rank's node at that time. Fences no longer wait for the rank. The error wraps
// ErrFull.
func (e *Engine) Lost(rank int, given uint64) error {
	if rank < 0 || rank >= e.Size() || e.failures.lost[rank] {
		return nil
	}
	if e.failures.lost == nil {
		e.failures.lost = make(map[int]bool)
	}
	e.failures.lost[rank] = true
	if !e.isLocal(rank) {
		e.lostElsewhere(e.info.RankNode[rank], given)
		return nil
	}
	s := e.state(rank)
	s.gone, s.lost = true, true
	if s.phase == PhaseFinalized {
		return nil
	}
	e.dropRequests(rank)
	e.onNoCommit(rank)
	e.breakGroupsOf(rank)
	e.lost++
	return e.maybeContribute()
}

// lostElsewhere ends the fences once no rank of a node is left. Fences that the node has already
// contributed to go on: they may still complete.
func (e *Engine) lostElsewhere(node int32, given uint64) {
	if e.failures.given == nil {
		e.failures.given = make(map[int32]uint64)
	}
	e.failures.given[node] = max(e.failures.given[node], given)
	if !e.isEmpty(node) {
		return
	}
	f := &e.fence
	if last := e.failures.given[node]; f.ending == "" || last < f.last {
		f.last, f.ending = last, fmt.Sprintf("no rank is left on node %d of the job", node)
	}
	e.maybeEnd()
}

// maybeEnd ends the fences if the present fence cannot complete.
func (e *Engine) maybeEnd() {
	if f := &e.fence; f.ending != "" && f.seq > f.last {
		e.FencesEnd(f.ending)
	}
}

// IsLost reports whether Lost was called for a rank.
func (e *Engine) IsLost(rank int) bool { return e.failures.lost[rank] }

// isEmpty reports whether all ranks of a node are lost: then the node cannot take part in fences.
func (e *Engine) isEmpty(node int32) bool {
	for rank, on := range e.info.RankNode {
		if on == node && !e.failures.lost[rank] {
			return false
		}
	}
	return true
}

// OnRespawned records that a rank of any node was started again, for the incarnation-th time. Keys
// that its last process committed stay until the new one commits; uncommitted keys are dropped.
func (e *Engine) OnRespawned(rank, incarnation int) {
	if rank < 0 || rank >= e.Size() || incarnation <= e.failures.incarnation[rank] || e.failures.lost[rank] {
		return
	}
	if e.failures.incarnation == nil {
		e.failures.incarnation = make(map[int]int)
	}
	e.failures.incarnation[rank] = incarnation
	if !e.isLocal(rank) {
		return
	}
	s, f := e.state(rank), &e.fence
	if s.phase == PhaseFinalized {
		e.departed--
	}
	e.dropRequests(rank)
	if s.inFence {
		// The new process takes no part in a fence that is already between the nodes.
		s.inFence = false
		if !f.exchanging {
			f.arrived--
		}
	}
	e.dropStaged(rank)
	slot, _ := e.Slot(rank)
	e.notices.forget(slot)
	*s = rankState{survives: true, keys: s.keys, bytes: s.bytes, fresh: s.fresh, isFresh: s.isFresh}
}

// dropStaged drops the keys that a rank has put since the last fence.
func (e *Engine) dropStaged(rank int) {
	for _, key := range e.state(rank).staged {
		at := setKey{int32(rank), ScopeGlobal, key}
		entry := e.store.sets[at]
		entry.staged, entry.isStaged = "", false
		if !entry.isCommitted {
			delete(e.store.sets, at)
			continue
		}
		e.store.sets[at] = entry
	}
}

// dropRequests drops the waiting requests of a rank: the answers are not for its next process.
func (e *Engine) dropRequests(rank int) {
	of := func(w waiter) bool { return w.rank == rank }
	for key, waiting := range e.waiters {
		e.waiters[key] = slices.DeleteFunc(waiting, of)
	}
	for id, w := range e.pending {
		if w.rank == rank {
			e.forgetPending(id, w)
		}
	}
	maps.DeleteFunc(e.fetches.waiting, func(_ uint64, w *fetch) bool { return !w.remote && w.rank == rank })
	for _, g := range e.groups.by {
		g.arrived = slices.DeleteFunc(g.arrived, of)
	}
	e.state(rank).held = 0
}

// maybeContribute contributes to the fence once all ranks here that can come are in it.
func (e *Engine) maybeContribute() error {
	f := &e.fence
	if f.arrived == 0 || f.exchanging || f.arrived+e.lostOutside() < len(e.local) {
		return nil
	}
	return e.contribute()
}

// lostOutside counts the lost ranks here that are not in the present fence.
func (e *Engine) lostOutside() int {
	n := 0
	if e.lost == 0 {
		return 0
	}
	for i := range e.ranks {
		if s := &e.ranks[i]; s.lost && !s.inFence && s.phase != PhaseFinalized {
			n++
		}
	}
	return n
}

// FencesEnd reports that fences of all ranks are impossible from now on, since another node is
// lost. Present and later arrivals fail with the reason.
func (e *Engine) FencesEnd(reason string) {
	f := &e.fence
	if f.broken != "" {
		return
	}
	f.broken = reason
	for i, rank := range e.local {
		s := &e.ranks[i]
		if s.inFence {
			s.inFence = false
			e.emit(Event{Kind: EventReleased, Rank: rank, Tag: s.fenceTag, Outcome: Missing, Value: reason})
		}
	}
	f.arrived, f.exchanging = 0, false
}

func (f *failures) dead() (string, bool) {
	var text []byte
	for _, rank := range slices.Sorted(maps.Keys(f.lost)) {
		text = strconv.AppendInt(text, int64(rank), 10)
		text = append(text, ',')
	}
	return attribute(text)
}

func (f *failures) respawned() (string, bool) {
	var text []byte
	for _, rank := range slices.Sorted(maps.Keys(f.incarnation)) {
		text = strconv.AppendInt(text, int64(rank), 10)
		text = append(text, ':')
		text = strconv.AppendInt(text, int64(f.incarnation[rank]), 10)
		text = append(text, ',')
	}
	return attribute(text)
}

// attribute returns a list without its last comma. A list that is longer than a value may be is cut
// between two elements.
func attribute(text []byte) (string, bool) {
	if len(text) == 0 {
		return "", false
	}
	for end := len(text) - 1; ; end-- {
		if text[end] == ',' && end <= MaxValue {
			return string(text[:end]), true
		}
	}
}
