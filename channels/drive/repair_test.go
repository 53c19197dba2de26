package drive

import (
	"fmt"
	"score/channels"
	"score/channels/abi"
	"score/flowctl"
	"testing"
)

// Steps of accepting a frame. The agent may be killed after each.
const (
	killedBefore = iota // nothing but the note
	killedCounted
	killedDelivered
	killedNever
)

// TestAgentKilled: whatever the agent was doing with a frame when it was killed, the next one
// sees to it that the message comes once.
func TestAgentKilled(t *testing.T) {
	eachFlow(t, func(t *testing.T, g abi.Geometry) {
		agentKilledAnywhere(t, g, []int{30, 4000}[:2-g.Flow]) // with credits a message is a frame
	})
}

func agentKilledAnywhere(t *testing.T, g abi.Geometry, lengths []int) {
	t.Helper()
	for _, length := range lengths {
		for frame := range (length + 1471) / 1472 {
			for at := killedBefore; at <= killedNever; at++ {
				t.Run(fmt.Sprintf("%d bytes, frame %d, step %d", length, frame, at), func(t *testing.T) {
					agentKilled(t, g, length, frame, at)
				})
			}
		}
	}
}

func agentKilled(t *testing.T, g abi.Geometry, length, frame, at int) {
	w := newWorld(t, 2, g)
	from, to := w.ranks[0], w.ranks[1]
	exchangeOne(t, w, 0, 30) // so that the addresses are known
	if !from.send(1, message(0, 1, 1, length)) {
		t.Fatal("no space")
	}
	if err := to.agent.Take(0); err != nil {
		t.Fatal(err)
	}
	to.agent.now = w.now
	kill := killAt{frame: frame, step: at}
	kill.run(t, to)
	to.replaceAgent(t)
	to.drive(byAgent)
	w.checkCredits()
	finish(t, w, 1, length)
	exchangeOne(t, w, 2, length)
	w.checkCredits()
}

// killAt lets the agent take what has come, up to a step of a frame.
type killAt struct{ frame, step int }

func (k killAt) run(t *testing.T, to *rank) {
	t.Helper()
	d, seen := to.agent, 0
	queue := to.queue
	to.queue = nil
	for _, in := range queue {
		h, frames := parse(t, in.data)
		p := d.peer(h.From)
		data := h.Data
		for f, ok := frames.Next(); ok; f, ok = frames.Next() {
			if seen < k.frame {
				d.frameIn(p, data, f)
			} else if seen == k.frame {
				room := d.room(p, f)
				d.img.NoteAccepting(channels.Accepting{Rank: p.rank, Seq: data.Seq, Tail: d.in.Tail(), Got: d.in.Got(p.rank)})
				if k.step >= killedCounted && p.recv.OnData(&d.flow, d.now, data, room) != flowctl.Accept {
					t.Fatal("not accepted")
				}
				if k.step >= killedDelivered {
					if err := d.deliver(p, f); err != nil {
						t.Fatal(err)
					}
				}
				if k.step == killedNever {
					d.img.Accepted()
				}
			}
			seen++
			data.Seq++
			data.Tx++
		}
	}
	if seen <= k.frame {
		t.Skipf("only %d frames came at once", seen)
	}
}

// TestAgentKilledInSwitch: the next agent finds a context that is half away, or half back, or in
// the middle of a flush. It goes on as the image says, and what was unanswered comes.
func TestAgentKilledInSwitch(t *testing.T) { eachFlow(t, agentKilledInSwitch) }

func agentKilledInSwitch(t *testing.T, g abi.Geometry) {
	for _, c := range []struct {
		name string
		last func(d *Driver, now int64)
		away bool
	}{
		{"flush", (*Driver).Flush, false},
		{"suspend", func(d *Driver, now int64) { d.Flush(now); d.Suspend(now) }, true},
		{"away", func(d *Driver, now int64) { d.Flush(now); d.Suspend(now); d.Follow() }, true},
		{"resume", func(d *Driver, now int64) { d.Flush(now); d.Suspend(now); d.Follow(); d.Resume(now) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, 2, g)
			from := w.ranks[0]
			exchangeOne(t, w, 0, 30) // so that the addresses are known
			w.fate = func(datagram) []datagram { return nil }
			if !from.send(1, message(0, 1, 1, 30)) {
				t.Fatal("no space")
			}
			w.fate = nil
			if err := from.agent.Take(0); err != nil {
				t.Fatal(err)
			}
			c.last(from.agent, w.now)
			from.replaceAgent(t)
			from.drive(byAgent)
			if c.away {
				stillAway(t, w)
			}
			finish(t, w, 1, 30)
			exchangeOne(t, w, 2, 30)
		})
	}
}

// stillAway lets the peer send to a context that is away, whose timers stand still, and brings it
// back.
func stillAway(t *testing.T, w *world) {
	t.Helper()
	from, to := w.ranks[0], w.ranks[1]
	if !to.send(0, message(1, 0, 0, 30)) {
		t.Fatal("no space")
	}
	for range 100 {
		w.now += 10_000_000
		from.drive(byAgent)
		to.drive(byProcess)
	}
	if from.agent.Due() != flowctl.NoDeadline {
		t.Error("a timer runs, and the context is away")
	}
	if _, ok := from.in.Poll(); ok {
		t.Error("a message was taken for a context that is away")
	}
	from.asAgent(func(d *Driver) { d.Resume(w.now); d.Follow() })
}

// replaceAgent has the agent's place taken by another, as after its death. Former agents count as
// dead.
func (r *rank) replaceAgent(t *testing.T) {
	t.Helper()
	r.img.SetOwner(abi.RoleAgent, channels.Process{Pid: 1 << 30})
	next, err := New(r.img, &port{r: r}, r.agent.where, abi.RoleAgent)
	if err != nil {
		t.Fatal(err)
	}
	r.agent = next
}

// TestAgentKilledRefusing: the agent of a context that is away was killed right after it took a
// peer's first frame. When the context is back the peer is heard.
func TestAgentKilledRefusing(t *testing.T) { eachFlow(t, agentKilledRefusing) }

func agentKilledRefusing(t *testing.T, g abi.Geometry) {
	w := newWorld(t, 2, g)
	from, to := w.ranks[0], w.ranks[1]
	to.asAgent(func(d *Driver) { d.Suspend(w.now); d.Follow() })
	if !from.send(1, message(0, 1, 0, 30)) {
		t.Fatal("no space")
	}
	from.drive(byProcess) // knows the address now
	if err := to.agent.Take(0); err != nil {
		t.Fatal(err)
	}
	to.agent.now = w.now
	for _, in := range to.queue {
		to.agent.input(in.from, in.data)
	}
	to.queue = nil
	to.replaceAgent(t)
	to.asAgent(func(d *Driver) { d.Resume(w.now); d.Follow() })
	finish(t, w, 0, 30)
}

// TestAgentKilledBeforeItFrees: what a peer has acknowledged is freed, also if the agent that got
// the acknowledgement was killed before that, after its tick left nothing to do for the peer.
func TestAgentKilledBeforeItFrees(t *testing.T) { eachFlow(t, agentKilledBeforeItFrees) }

func agentKilledBeforeItFrees(t *testing.T, g abi.Geometry) {
	w := newWorld(t, 2, g)
	from, to := w.ranks[0], w.ranks[1]
	exchangeOne(t, w, 0, 30) // so that the addresses are known
	for range 100 {
		w.now += 10_000_000
		from.drive(byAgent)
		to.drive(byAgent)
	}
	free := freeGranules(from)
	if !from.send(1, message(0, 1, 1, 30)) {
		t.Fatal("no space")
	}
	to.drive(byAgent)
	w.now += 10_000_000
	to.drive(byAgent) // acknowledges at the latest now
	if err := from.agent.Take(0); err != nil {
		t.Fatal(err)
	}
	from.agent.now = w.now
	from.agent.take()
	from.agent.tick()
	from.replaceAgent(t)
	from.drive(byAgent)
	if got := freeGranules(from); got != free {
		t.Errorf("%d granules are free, before the message %d", got, free)
	}
}

func freeGranules(r *rank) (n int) {
	var kept []channels.Kept
	buf := r.img.SendBuffer()
	for k, _, err := buf.Reserve(0); err == nil; k, _, err = buf.Reserve(0) {
		kept = append(kept, k)
	}
	for _, k := range kept {
		_ = buf.Free(k)
	}
	return len(kept)
}
