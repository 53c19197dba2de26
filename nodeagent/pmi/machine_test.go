package pmi

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// checkInvariants says what is wrong inside the engine, if anything.
func (e *Engine) checkInvariants() error {
	inFence, departed := 0, 0
	held := make([]int, len(e.ranks))
	for _, waiters := range e.waiters {
		if len(waiters) == 0 {
			return errors.New("a list of nobody who waits")
		}
		for _, w := range waiters {
			slot, _ := e.Slot(w.rank)
			held[slot]++
		}
	}
	for _, w := range e.pending {
		slot, _ := e.Slot(w.rank)
		held[slot]++
	}
	for key := range e.waiters {
		if _, ok := e.attrs[key]; ok {
			return fmt.Errorf("someone waits for %q, which is there", key)
		}
	}
	for i := range e.ranks {
		s := &e.ranks[i]
		if s.inFence {
			inFence++
		}
		if s.gone || s.phase == PhaseFinalized {
			departed++
		}
		if s.held != held[i] || s.held > MaxHeld {
			return fmt.Errorf("rank %d has %d requests open, counted %d", e.local[i], held[i], s.held)
		}
		for _, key := range s.staged {
			if !e.store.sets[setKey{rank: int32(e.local[i]), key: key}].isStaged {
				return fmt.Errorf("rank %d staged %q and has it not", e.local[i], key)
			}
		}
	}
	if inFence != e.fence.arrived || departed != e.departed {
		return fmt.Errorf("%d in the fence, counted %d; %d departed, counted %d", inFence, e.fence.arrived, departed, e.departed)
	}
	if e.fence.exchanging && e.fence.arrived != len(e.local) {
		return errors.New("an exchange without all ranks")
	}
	for key, who := range e.store.common {
		if !e.store.sets[setKey{rank: who.rank, key: key}].isCommitted {
			return fmt.Errorf("%q belongs to rank %d, which has it not", key, who.rank)
		}
	}
	return nil
}

// Ranks do anything in any order; the engine's invariants hold, every answer goes to a request that
// is open, and no request is answered twice.
func TestEngineModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &engineModel{ranks: rapid.IntRange(1, 4).Draw(rt, "ranks"), open: map[Tag]int{}}
		var err error
		if m.engine, err = NewEngine(JobInfo{KVSName: "kvs", RankNode: make([]int32, m.ranks)}); err != nil {
			rt.Fatal(err)
		}
		rt.Repeat(m.actions())
	})
}

// engineModel is an engine with the requests that wait for an answer.
type engineModel struct {
	engine *Engine
	ranks  int
	open   map[Tag]int // rank of each request
	tag    Tag         // given last
	asked  []uint64    // requests to the leader
}

func (m *engineModel) rank(rt *rapid.T) int { return rapid.IntRange(0, m.ranks-1).Draw(rt, "rank") }

func (m *engineModel) key(rt *rapid.T) []byte {
	return []byte(rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "key"))
}

func (m *engineModel) actions() map[string]func(*rapid.T) {
	e := m.engine
	return map[string]func(*rapid.T){
		"init":     func(rt *rapid.T) { _ = e.Init(m.rank(rt)) },
		"finalize": func(rt *rapid.T) { _ = e.Finalize(m.rank(rt)) },
		"gone":     func(rt *rapid.T) { _, _ = e.OnDisconnected(m.rank(rt)) },
		"put":      func(rt *rapid.T) { _ = e.Put(m.rank(rt), m.key(rt), []byte("v")) },
		"attr":     func(rt *rapid.T) { _ = e.PutNodeAttr(m.rank(rt), m.key(rt), []byte("v")) },
		"fence":    m.request(e.FenceIn),
		"ring":     m.request(func(rank int, tag Tag) error { return e.RingIn(rank, tag, Ring{Count: 1}) }),
		"name":     m.request(func(rank int, tag Tag) error { return e.Name(rank, tag, NameLookup, []byte("s"), nil) }),
		"spawn": m.request(func(rank int, tag Tag) error {
			return e.Spawn(rank, tag, &SpawnRequest{Apps: []SpawnApp{{Command: "a", MaxProcs: 1}}})
		}),
		"wait":   m.wait,
		"answer": m.answer,
		"":       m.check,
	}
}

// request returns an action: a rank sends a request that is answered later.
func (m *engineModel) request(do func(rank int, tag Tag) error) func(*rapid.T) {
	return func(rt *rapid.T) {
		rank := m.rank(rt)
		m.tag++
		if m.engine.Active(rank, nil) != nil || m.engine.state(rank).gone {
			return
		}
		m.open[m.tag] = rank
		if do(rank, m.tag) != nil {
			delete(m.open, m.tag)
		}
	}
}

// wait has a rank wait for an attribute of the node.
func (m *engineModel) wait(rt *rapid.T) {
	key := m.key(rt)
	m.request(func(rank int, tag Tag) error {
		_, _, held, err := m.engine.NodeAttr(rank, tag, key, true)
		if !held && err == nil {
			return errors.New("answered at once")
		}
		return err
	})(rt)
}

// answer has the leader answer a request, which may have been answered before.
func (m *engineModel) answer(rt *rapid.T) {
	if len(m.asked) == 0 {
		return
	}
	id := rapid.SampledFrom(m.asked).Draw(rt, "id")
	m.engine.NameResult(id, true, "p")
	m.engine.SpawnResult(id, SpawnResult{})
}

func (m *engineModel) check(rt *rapid.T) {
	for _, event := range m.engine.Events() {
		switch event.Kind {
		case EventReleased, EventRing, EventAttr, EventNameAnswer, EventSpawnAnswer:
			if rank, ok := m.open[event.Tag]; !ok || rank != event.Rank {
				rt.Fatalf("an answer that nobody waits for: %+v", event)
			}
			delete(m.open, event.Tag)
		case EventNameOp:
			m.asked = append(m.asked, event.Name.ID)
		case EventSpawn:
			m.asked = append(m.asked, event.Spawn.ID)
		default:
		}
	}
	if err := m.engine.checkInvariants(); err != nil {
		rt.Fatal(err)
	}
}
