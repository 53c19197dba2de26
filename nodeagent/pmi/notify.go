package pmi

import "fmt"

// Notice is an event that ranks are told of.
type Notice struct {
	// Job is that of Source; 0: this one. What another job says goes no further than this node.
	Job uint64
	// Source is the rank it is about, or comes from.
	Source int
	Code   int32
	// Range is the protocol's own number for who may hear it.
	Range uint8
	// Infos are packed by the front end.
	Infos string
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

// Register notes that a rank wants to hear of events with the codes; none stands
// for all. The error wraps ErrFull.
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
	return nil
}

// Deregister takes a registration back; no code stands for that for all.
func (e *Engine) Deregister(rank int, codes []int32) {
	s := e.state(rank)
	if len(codes) == 0 {
		s.all = false
	}
	for _, code := range codes {
		delete(s.codes, code)
	}
}

// Notify tells an event to the ranks that have registered for it. The source
// itself is not told, except by ReachRank: its library has done that.
func (e *Engine) Notify(n Notice, reach Reach) {
	if reach == ReachRank {
		e.deliverTo(n.Source, &n)
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
	for _, rank := range e.local {
		if rank != n.Source || n.Job != 0 {
			e.deliverTo(rank, n)
		}
	}
}

func (e *Engine) deliverTo(rank int, n *Notice) {
	slot, ok := e.Slot(rank)
	if !ok {
		return
	}
	s := &e.ranks[slot]
	if s.gone || s.phase != PhaseActive || !s.all && !s.codes[n.Code] {
		return
	}
	notice := *n
	e.emit(Event{Kind: EventNotice, Rank: rank, Notice: &notice})
}
