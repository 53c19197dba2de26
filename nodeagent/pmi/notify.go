package pmi

import (
	"fmt"
	"slices"
)

// Notice is an event for ranks.
type Notice struct {
	// Job is the job of Source; 0: this one. Events of other jobs go no further than this node.
	Job uint64
	// Source is the rank that the event is about, or that sent it.
	Source int
	Code   int32
	// Range is the protocol's number for the range of receivers.
	Range uint8
	// Infos holds the event's attributes, packed by the front end.
	Infos string
	// Fleeting means that the event is not kept for ranks that register later.
	Fleeting bool
}

const (
	// maxKept is the number of events that a node keeps for ranks that register for them later:
	// programs start at different times.
	maxKept = 128
	// MaxKeptBytes bounds the Infos of all kept events; a longer event is not kept.
	MaxKeptBytes = 1 << 20
)

// keptNotice is an event with the ranks here that have got it, by slot.
type keptNotice struct {
	note     Notice
	notified []bool
}

// notices holds the latest events here, oldest first.
type notices struct {
	kept  []*keptNotice
	bytes int
}

// keep stores an event for ranks that register later.
func (k *notices) keep(n *Notice, ranks int) *keptNotice {
	one := &keptNotice{note: *n, notified: make([]bool, ranks)}
	if n.Fleeting || len(n.Infos) > MaxKeptBytes {
		return one
	}
	k.kept = append(k.kept, one)
	k.bytes += len(n.Infos)
	for len(k.kept) > maxKept || k.bytes > MaxKeptBytes {
		k.bytes -= len(k.kept[0].note.Infos)
		k.kept = slices.Delete(k.kept, 0, 1)
	}
	return one
}

// forget lets the next process of a rank get the events that its previous process got.
func (k *notices) forget(slot int) {
	for _, one := range k.kept {
		one.notified[slot] = false
	}
}

// Reach is how far a notice goes.
type Reach uint8

// Reaches of a notice.
const (
	// ReachRank: the rank itself.
	ReachRank Reach = iota + 1
	// ReachNode: ranks of its node.
	ReachNode
	// ReachJob: ranks of its job.
	ReachJob
)

// Register registers a rank for events with the codes, including earlier ones; without a code, for
// all events from now on. The error wraps ErrFull.
func (e *Engine) Register(rank int, codes []int32) error {
	s := e.state(rank)
	if len(codes) == 0 {
		s.all = true
		return nil
	}
	if s.codes == nil {
		s.codes = make(map[int32]bool)
	}
	for _, code := range codes {
		s.codes[code] = true
	}
	if len(s.codes) > MaxCodes {
		return fmt.Errorf("%w: rank %d registers for more than %d kinds of events", ErrFull, rank, MaxCodes)
	}
	for _, one := range e.notices.kept {
		if slices.Contains(codes, one.note.Code) {
			e.deliverTo(rank, one)
		}
	}
	return nil
}

// Deregister cancels a registration for codes; without a code, the registration for all events.
func (e *Engine) Deregister(rank int, codes []int32) {
	s := e.state(rank)
	if len(codes) == 0 {
		s.all = false
	}
	for _, code := range codes {
		delete(s.codes, code)
	}
}

// Notify delivers an event to the ranks that have registered for it. The source gets it only with
// ReachRank, since its own library has already delivered it.
func (e *Engine) Notify(n Notice, reach Reach) {
	if reach == ReachRank {
		e.deliverTo(n.Source, &keptNotice{note: n})
		return
	}
	e.deliver(&n)
	if reach != ReachJob {
		return
	}
	for node := range e.nodes {
		if node != e.info.NodeIndex {
			e.relay(address{e.info.Job, node}, relayed{kind: relayNotify, note: n})
		}
	}
}

func (e *Engine) deliver(n *Notice) {
	one := e.notices.keep(n, len(e.local))
	for _, rank := range e.local {
		e.deliverTo(rank, one)
	}
}

// deliverTo delivers an event to a rank that has registered for it and has not got it yet. Its
// source gets it only with ReachRank.
func (e *Engine) deliverTo(rank int, one *keptNotice) {
	slot, ok := e.Slot(rank)
	if !ok {
		return
	}
	n, s := &one.note, &e.ranks[slot]
	switch {
	case s.gone || s.phase != PhaseActive || !s.all && !s.codes[n.Code]:
		return
	case one.notified == nil: // to this rank alone
	case one.notified[slot] || rank == n.Source && n.Job == 0:
		return
	default:
		one.notified[slot] = true
	}
	notice := *n
	e.emit(Event{Kind: EventNotice, Rank: rank, Notice: &notice})
}
