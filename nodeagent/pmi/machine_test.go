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
	for _, w := range e.asked {
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

// Ranks do anything in any order; the engine stays whole, every answer goes to
// a request that is open, and no request is answered twice.
func TestAnythingInAnyOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(rt, "ranks")
		e, err := NewEngine(JobInfo{KVSName: "kvs", RankNode: make([]int32, n)})
		if err != nil {
			rt.Fatal(err)
		}
		open := map[Tag]int{}
		var tag Tag
		var asked []uint64
		drawRank := func() int { return rapid.IntRange(0, n-1).Draw(rt, "rank") }
		drawKey := func() []byte { return []byte(rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "key")) }
		hold := func(rank int, do func(tag Tag) error) {
			tag++
			if e.Active(rank, nil) != nil || e.state(rank).gone {
				return
			}
			open[tag] = rank
			if do(tag) != nil {
				delete(open, tag)
			}
		}
		actions := map[string]func(*rapid.T){
			"init":     func(*rapid.T) { _ = e.Init(drawRank()) },
			"finalize": func(*rapid.T) { _ = e.Finalize(drawRank()) },
			"gone":     func(*rapid.T) { _, _ = e.OnDisconnected(drawRank()) },
			"put":      func(*rapid.T) { _ = e.Put(drawRank(), drawKey(), []byte("v")) },
			"fence": func(*rapid.T) {
				rank := drawRank()
				hold(rank, func(tag Tag) error { return e.FenceIn(rank, tag) })
			},
			"ring": func(*rapid.T) {
				rank := drawRank()
				hold(rank, func(tag Tag) error { return e.RingIn(rank, tag, Ring{Count: 1}) })
			},
			"wait": func(*rapid.T) {
				rank := drawRank()
				hold(rank, func(tag Tag) error {
					_, _, held, err := e.NodeAttr(rank, tag, drawKey(), true)
					if !held && err == nil {
						return errors.New("answered at once")
					}
					return err
				})
			},
			"attr": func(*rapid.T) { _ = e.PutNodeAttr(drawRank(), drawKey(), []byte("v")) },
			"name": func(*rapid.T) {
				rank := drawRank()
				hold(rank, func(tag Tag) error { return e.Name(rank, tag, NameLookup, []byte("s"), nil) })
			},
			"spawn": func(*rapid.T) {
				rank := drawRank()
				hold(rank, func(tag Tag) error {
					return e.Spawn(rank, tag, &SpawnRequest{Apps: []SpawnApp{{Command: "a", MaxProcs: 1}}})
				})
			},
			"answer": func(*rapid.T) {
				if len(asked) == 0 {
					return
				}
				id := rapid.SampledFrom(asked).Draw(rt, "id")
				e.NameResult(id, true, "p")
				e.SpawnResult(id, SpawnResult{})
			},
			"": func(*rapid.T) {
				for _, event := range e.Events() {
					switch event.Kind {
					case EventReleased, EventRing, EventAttr, EventNameAnswer, EventSpawnAnswer:
						if rank, ok := open[event.Tag]; !ok || rank != event.Rank {
							rt.Fatalf("an answer that nobody waits for: %+v", event)
						}
						delete(open, event.Tag)
					case EventNameOp:
						asked = append(asked, event.Name.ID)
					case EventSpawn:
						asked = append(asked, event.Spawn.ID)
					default:
					}
				}
				if err := e.checkInvariants(); err != nil {
					rt.Fatal(err)
				}
			},
		}
		rt.Repeat(actions)
	})
}
