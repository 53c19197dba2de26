package drive

import (
	"fmt"
	"testing"

	"score/channels"
	"score/channels/abi"
	"score/flowctl"
)

// steps of accepting a frame, after each of which the agent may be killed.
const (
	killedBefore = iota // nothing but the note
	killedCounted
	killedDelivered
	killedNever
)

// TestAgentKilled: whatever the agent was doing with a frame when it was killed, the next one
// sees to it that the message comes once.
func TestAgentKilled(t *testing.T) {
	for _, length := range []int{30, 4000} {
		for frame := range (length + 1471) / 1472 {
			for at := killedBefore; at <= killedNever; at++ {
				t.Run(fmt.Sprintf("%d bytes, frame %d, step %d", length, frame, at), func(t *testing.T) {
					agentKilled(t, length, frame, at)
				})
			}
		}
	}
}

func agentKilled(t *testing.T, length, frame, at int) {
	w := newWorld(t, 2, abi.Geometry{})
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
	// A former agent's word is that of a dead one.
	to.img.SetOwner(abi.RoleAgent, channels.Process{Pid: 1 << 30})
	next, err := New(to.img, &port{r: to}, to.agent.where, abi.RoleAgent)
	if err != nil {
		t.Fatal(err)
	}
	to.agent = next
	to.drive(true)
	finish(t, w, 1, length)
	exchangeOne(t, w, 2, length)
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
