package pmi

import (
	"fmt"
	"slices"
)

// Phase is the state of a rank's use of PMI.
type Phase uint8

const (
	// PhaseSilent: the rank has not spoken; many programs never do.
	PhaseSilent Phase = iota
	// PhaseContacted: it has sent something, but no valid init yet.
	PhaseContacted
	// PhaseActive: between init and finalize. A rank that disconnects in this phase has failed,
	// whatever its exit status.
	PhaseActive
	// PhaseFinalized: it has called finalize.
	PhaseFinalized
)

// rankState holds the engine's state of a rank of its own node.
type rankState struct {
	phase Phase
	// gone is set when the connection has ended; no more requests come, unless the rank is started
	// again.
	gone bool
	// survives: its failure does not end the job. lost: it has failed, and will not be started
	// again.
	survives, lost bool
	// inFence is set from FenceIn or RingIn to the release; fenceTag and ring belong to that
	// request.
	inFence  bool
	fenceTag Tag
	ring     Ring
	// staged holds the keys put since the last fence.
	staged []string
	// fresh holds the keys committed for other nodes since the last fence that exchanged them.
	fresh   []string
	isFresh map[string]bool
	// codes holds the events that the rank has registered for; all is set if it has registered for
	// every event.
	codes map[int32]bool
	all   bool
	// keys and bytes count the rank's stored keys and values, held its requests that wait for an
	// answer.
	keys, bytes, held int
}

// Engine is the PMI state of one job on one node.
type Engine struct {
	info JobInfo
	// nodes is the number of nodes of the job, and local the ranks on this node in ascending order;
	// ranks[i] is the state of local[i].
	nodes int
	local []int
	ranks []rankState

	store   store
	fence   fenceState
	attrs   map[string]string
	waiters map[string][]waiter
	// pending holds the unanswered requests to name table and scheduler, by id.
	pending      map[uint64]waiter
	pendingBytes int // of their texts
	lastID       uint64
	fetches      fetches
	groups       groups
	jobs         map[uint64]*otherJob
	// protocol is the protocol of the first rank that spoke; all others must speak it, too.
	protocol Protocol
	// departed counts ranks here that can enter no fence any more, lost the ranks here without
	// which fences go on.
	departed, lost int
	// failures holds the ranks of all nodes that have failed while the job went on.
	failures failures
	notices  notices

	events []Event
	stats  Stats
}

// waiter is a request that is held.
type waiter struct {
	rank int
	tag  Tag
	op   NameOp
	// bytes is the size of its texts while it is in pending
	bytes int
}

// Stats counts the engine's exchanges since the job began.
type Stats struct {
	// Fences completed.
	Fences uint64
	// PlainBytes is the size that this node's keys and values in fences would have as lines of
	// text, PackedBytes the size in which they are sent to other nodes.
	PlainBytes, PackedBytes uint64
}

// NewEngine returns the engine for one node of a job. The error wraps
// ErrJobInfo.
func NewEngine(info JobInfo) (*Engine, error) {
	if err := info.check(); err != nil {
		return nil, err
	}
	e := &Engine{
		info:    info,
		nodes:   info.nodes(),
		store:   newStore(),
		attrs:   make(map[string]string),
		waiters: make(map[string][]waiter),
		pending: make(map[uint64]waiter),
		jobs:    make(map[uint64]*otherJob),
	}
	for rank, node := range info.RankNode {
		if int(node) == info.NodeIndex {
			e.local = append(e.local, rank)
		}
	}
	e.ranks = make([]rankState, len(e.local))
	e.fence.seq = 1
	for i := range e.ranks {
		e.ranks[i].survives = info.Survive
	}
	if mapping, ok := Mapping(info.RankNode); ok {
		e.store.setGiven(mappingKey, mapping)
	}
	if info.Hardware != "" && len(info.Hardware) <= MaxValue {
		e.store.setGiven(hardwareKey, info.Hardware)
	}
	for key, value := range info.Preput {
		e.store.setGiven(key, value)
	}
	return e, nil
}

// Size returns the number of ranks of the job.
func (e *Engine) Size() int { return e.info.Size() }

// KVSName returns the name of the job among its ranks.
func (e *Engine) KVSName() string { return e.info.KVSName }

// Spawner returns the KVSName of the job that spawned this one, or "".
func (e *Engine) Spawner() string { return e.info.SpawnerJob }

// UniverseSize returns the value of MPI_UNIVERSE_SIZE.
func (e *Engine) UniverseSize() int { return e.info.universe() }

// AppNum returns the index of the rank's command in the job.
func (e *Engine) AppNum(rank int) int {
	if e.info.RankApp == nil {
		return 0
	}
	return int(e.info.RankApp[rank])
}

// LocalRanks returns the ranks on this node, ascending. The caller must not
// change the slice.
func (e *Engine) LocalRanks() []int { return e.local }

// Stats returns the counts so far.
func (e *Engine) Stats() Stats { return e.stats }

// Slot returns the index of a rank in LocalRanks; ok is false for a rank of another node.
func (e *Engine) Slot(rank int) (slot int, ok bool) {
	// Ranks are usually placed in blocks, then the slot is a difference.
	if slot = rank - e.local[0]; slot >= 0 && slot < len(e.local) && e.local[slot] == rank {
		return slot, true
	}
	return slices.BinarySearch(e.local, rank)
}

// state returns the state of a local rank. It panics for another rank, since that is a bug of the
// caller, not a mistake of a rank.
func (e *Engine) state(rank int) *rankState {
	slot, ok := e.Slot(rank)
	if !ok {
		panic(fmt.Sprintf("pmi: rank %d is not on node %d", rank, e.info.NodeIndex))
	}
	return &e.ranks[slot]
}

// Phase returns the phase of a rank of this node.
func (e *Engine) Phase(rank int) Phase { return e.state(rank).phase }

// Events returns the events since the last call. The next call of a method that makes events reuses
// the slice.
func (e *Engine) Events() []Event {
	events := e.events
	e.events = e.events[:0]
	return events
}

func (e *Engine) emit(event Event) { e.events = append(e.events, event) }

// Contact records that a rank has sent something.
func (e *Engine) Contact(rank int) {
	s := e.state(rank)
	if s.phase != PhaseSilent {
		return
	}
	s.phase = PhaseContacted
	e.emit(Event{Kind: EventContact, Rank: rank})
}

// Init begins a rank's use of PMI.
func (e *Engine) Init(rank int) error {
	e.Contact(rank)
	s := e.state(rank)
	if s.gone {
		return fmt.Errorf("%w: init on a connection that has ended", ErrOrder)
	}
	switch s.phase {
	case PhaseActive:
		return fmt.Errorf("%w: a second init", ErrOrder)
	case PhaseFinalized:
		return fmt.Errorf("%w: init after finalize; run one MPI program per rank, and a second one as a job of its own", ErrOrder)
	case PhaseSilent, PhaseContacted:
	}
	s.phase = PhaseActive
	return nil
}

// Active returns an error unless the rank is between init and finalize. what names the request in
// the error.
func (e *Engine) Active(rank int, what []byte) error {
	s := e.state(rank)
	if s.gone {
		return fmt.Errorf("%w: %.32q on a connection that has ended", ErrOrder, what)
	}
	switch s.phase {
	case PhaseActive:
		return nil
	case PhaseFinalized:
		return fmt.Errorf("%w: %.32q after finalize", ErrOrder, what)
	case PhaseSilent, PhaseContacted:
	}
	return fmt.Errorf("%w: %.32q before init", ErrOrder, what)
}

// Abort ends the job on behalf of a rank, which may do so at any time. The
// event's code is a valid exit status of a failure: the low eight bits, or 1.
func (e *Engine) Abort(rank, code int, message string) {
	if code &= 0xff; code == 0 {
		code = 1
	}
	e.emit(Event{Kind: EventAbort, Rank: rank, Code: code, Value: message})
}

// Finalize ends a rank's use of PMI.
func (e *Engine) Finalize(rank int) error {
	if err := e.Active(rank, []byte("finalize")); err != nil {
		return err
	}
	s := e.state(rank)
	if s.inFence {
		return fmt.Errorf("%w: finalize inside a fence", ErrOrder)
	}
	s.phase = PhaseFinalized
	e.emit(Event{Kind: EventFinalized, Rank: rank})
	return e.depart(rank, "finalized")
}

// OnDisconnected records that a rank's connection has ended, and returns the rank's phase:
// PhaseActive means that the rank failed. It returns an error if other ranks wait for this one in a
// fence, which can no longer complete.
func (e *Engine) OnDisconnected(rank int) (Phase, error) {
	s := e.state(rank)
	if s.gone {
		return s.phase, nil
	}
	s.gone = true
	if s.phase == PhaseFinalized {
		return s.phase, nil
	}
	if s.survives {
		e.dropRequests(rank)
		return s.phase, nil
	}
	return s.phase, e.depart(rank, "has ended")
}

// depart records that a rank will enter no fence any more.
func (e *Engine) depart(rank int, how string) error {
	e.departed++
	e.onNoCommit(rank)
	e.breakGroupsOf(rank)
	if e.fence.arrived == 0 || e.fence.exchanging {
		return nil
	}
	return fmt.Errorf("%w: rank %d %s while rank %d waits for all ranks in a fence",
		ErrOrder, rank, how, e.firstInFence())
}
