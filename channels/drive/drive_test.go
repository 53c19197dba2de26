package drive

import (
	"bytes"
	"errors"
	"score/channels"
	"score/channels/abi"
	"score/channels/link"
	"testing"
	"time"
)

// exchange sends count messages between all ranks over the network of the world, and checks that
// each arrives once, in order, whole.
func exchange(t *testing.T, w *world, count int, length func(index int) int) {
	t.Helper()
	n := len(w.ranks)
	sent, got := make([][]int, n), make([][]int, n)
	for i := range n {
		sent[i], got[i] = make([]int, n), make([]int, n)
	}
	left := n * (n - 1) * count
	for steps := 0; left > 0; steps++ {
		if steps > 4_000_000 {
			t.Fatalf("%d messages do not come: sent %v, received %v", left, sent, got)
		}
		w.now += int64(w.rng.IntN(20_000))
		w.step()
		r := w.ranks[w.rng.IntN(n)]
		switch from := int(r.number); w.rng.IntN(4) {
		case 0:
			to := w.rng.IntN(n)
			if i := sent[from][to]; to != from && i < count && r.send(to, message(from, to, i, length(i))) {
				sent[from][to]++
			}
		case 1:
			r.drive(w.rng.IntN(4) == 0)
		case 2:
			if w.rng.IntN(w.lazy+1) != 0 {
				continue
			}
			m, ok := r.in.Poll()
			if !ok {
				continue
			}
			if m.Available() < m.Len() {
				for m.Available() < m.Len() {
					w.now += 10_000
					w.step()
					for _, r := range w.ranks {
						r.drive(byProcess)
					}
				}
			}
			from, to := int(m.Rank()), int(r.number)
			if want := message(from, to, got[from][to], length(got[from][to])); !bytes.Equal(m.Head(), want) {
				t.Fatalf("rank %d, message %d of rank %d: %.20q, want %.20q", to, got[from][to], from, m.Head(), want)
			}
			got[from][to]++
			left--
			if err := r.in.Release(m); err != nil {
				t.Fatal(err)
			}
		}
	}
	settle(t, w)
}

// settle drives until nothing is pending anywhere.
func settle(t *testing.T, w *world) {
	t.Helper()
	for steps := 0; ; steps++ {
		settled := true
		w.step()
		for _, r := range w.ranks {
			r.drive(byProcess)
			settled = settled && r.process.Settled()
		}
		if settled {
			return
		}
		if steps > 100_000 {
			t.Fatal("what was received is not acknowledged")
		}
		w.now += 50_000
	}
}

func short(i int) int { return 16 + i%40 }

func mixed(i int) int { return []int{0, 8, 48, 1000, 1400, 4000, 20000, 65536}[i%8] }

func TestExchange(t *testing.T) {
	for name, length := range map[string]func(int) int{"short": short, "mixed": mixed} {
		t.Run(name, func(t *testing.T) {
			eachFlow(t, func(t *testing.T, g abi.Geometry) { exchange(t, newWorld(t, 3, g), 300, fitting(g, length)) })
		})
	}
}

// eachFlow runs a test under both flow controls.
func eachFlow(t *testing.T, test func(*testing.T, abi.Geometry)) {
	t.Helper()
	t.Run("nack", func(t *testing.T) { test(t, abi.Geometry{}) })
	t.Run("credits", func(t *testing.T) { test(t, abi.Geometry{Flow: abi.FlowCredits}) })
}

// fitting returns lengths no longer than the longest message.
func fitting(g abi.Geometry, length func(int) int) func(int) int {
	return func(i int) int { return min(length(i), int(g.WithDefaults().MaxMessage)) }
}

// TestBadNetwork: loss, doubling, reordering and damage.
func TestBadNetwork(t *testing.T) { eachFlow(t, badNetwork) }

func badNetwork(t *testing.T, g abi.Geometry) {
	w := newWorld(t, 3, g)
	var held []datagram
	w.fate = func(d datagram) []datagram {
		switch w.rng.IntN(20) {
		case 0, 1:
			return nil
		case 2:
			return []datagram{d, d}
		case 3:
			held = append(held, d)
			return nil
		case 4:
			out := append(held, d)
			held = nil
			return out
		case 5:
			d.data = bytes.Clone(d.data)
			d.data[w.rng.IntN(len(d.data))] ^= 1 << w.rng.IntN(8)
		}
		return []datagram{d}
	}
	w.step = w.checkSometimes
	exchange(t, w, 300, fitting(g, mixed))
}

// TestSmallInbox: eight senders, an inbox that takes two of the longest messages.
func TestSmallInbox(t *testing.T) {
	exchange(t, newWorld(t, 5, abi.Geometry{LaneBytes: 1 << 18, SharedBytes: 1 << 18, SendBytes: 1 << 18}), 100, func(int) int { return 60000 })
}

// TestPeerEnds: a rank that sends to a closed or dead context gets an error that says which.
func TestPeerEnds(t *testing.T) { eachFlow(t, peerEnds) }

func peerEnds(t *testing.T, g abi.Geometry) {
	w := newWorld(t, 3, g)
	if !w.ranks[0].send(1, []byte("a")) || !w.ranks[0].send(2, []byte("b")) {
		t.Fatal("no space")
	}
	settle(t, w)
	w.ranks[1].img.SetState(abi.StateClosed)
	w.ranks[2].img.SetState(abi.StateGone)
	if !w.ranks[0].send(1, []byte("c")) || !w.ranks[0].send(2, []byte("d")) {
		t.Fatal("no space")
	}
	for range 100 {
		w.now += int64(time.Millisecond)
		w.ranks[1].drive(byAgent)
		w.ranks[2].drive(byAgent)
		w.ranks[0].drive(byProcess)
	}
	d := w.ranks[0].process
	if err := d.Space(1, 1); err == nil || err.Error() != "channels: the receiver closed the channel" {
		t.Errorf("closed: %v", err)
	}
	if err := d.Space(2, 1); err == nil || err.Error() != "channels: the receiver died" {
		t.Errorf("died: %v", err)
	}
	if rank, ok := d.Gone(); rank != 2 || !ok {
		t.Errorf("gone: %d, %v", rank, ok)
	}
	if rank, ok := d.Gone(); ok {
		t.Errorf("gone, too: %d", rank)
	}
}

// TestSilentDirectoryEndsPeer: a directory that does not answer ends the peer, after FailAfter.
func TestSilentDirectoryEndsPeer(t *testing.T) { eachFlow(t, nobodyThere) }

func nobodyThere(t *testing.T, g abi.Geometry) {
	w := newWorld(t, 2, g)
	w.fate = func(datagram) []datagram { return nil }
	w.ranks[0].send(1, []byte("x"))
	start := w.now
	for w.ranks[0].process.Space(1, 1) == nil {
		w.now = max(w.now+1, w.ranks[0].process.Due())
		w.ranks[0].drive(byProcess)
	}
	if waited := time.Duration(w.now - start); waited < 10*time.Second || waited > 11*time.Second {
		t.Errorf("given up after %v", waited)
	}
}

// TestForeign: what another job, channel, rank or host sends changes nothing.
func TestForeign(t *testing.T) {
	w := newWorld(t, 2, abi.Geometry{})
	good := link.Head{Kind: link.Data, Job: testKey, Channel: 1, From: 1, To: 0}
	for name, c := range map[string]struct {
		change func(h *link.Head)
		from   link.Address
	}{
		"job":     {func(h *link.Head) { h.Job++ }, w.ranks[1].address},
		"channel": {func(h *link.Head) { h.Channel++ }, w.ranks[1].address},
		"to":      {func(h *link.Head) { h.To = 1 }, w.ranks[1].address},
		"from":    {func(h *link.Head) { h.From = 2 }, w.ranks[1].address},
		"itself":  {func(h *link.Head) { h.From = 0 }, w.ranks[1].address},
		"host":    {func(*link.Head) {}, address(7, 101)},
		"sending": {func(h *link.Head) { h.Status = link.StatusSendOnly }, address(7, 101)},
	} {
		h := good
		c.change(&h)
		w.ranks[0].queue = append(w.ranks[0].queue, datagram{c.from, w.ranks[0].address, encode(&h, "x")})
		w.ranks[0].drive(byProcess)
		if _, ok := w.ranks[0].in.Poll(); ok {
			t.Errorf("%s: taken", name)
		}
	}
	w.ranks[0].queue = append(w.ranks[0].queue, datagram{w.ranks[1].address, w.ranks[0].address, encode(&good, "x")})
	w.ranks[0].drive(byProcess)
	if m, ok := w.ranks[0].in.Poll(); !ok || string(m.Head()) != "x" {
		t.Error("the good one is not taken")
	}
}

func encode(h *link.Head, text string) []byte {
	var w link.Writer
	buf := make([]byte, link.MinDatagram)
	w.Begin(buf, len(buf), h)
	w.Add(len(text), true, []byte(text))
	return buf[:w.Finish(0)]
}

// TestTurns: contexts leave and come back, by the agent, at any time, each on its own; nothing
// is lost, and none that is away takes anything.
func TestTurns(t *testing.T) { eachFlow(t, turns) }

func turns(t *testing.T, g abi.Geometry) {
	w := newWorld(t, 3, g)
	away := make([]bool, 3)
	w.fate = func(d datagram) []datagram {
		if w.rng.IntN(20) == 0 {
			return nil
		}
		return []datagram{d}
	}
	w.step = func() {
		if w.rng.IntN(100) == 0 {
			i := w.rng.IntN(3)
			w.turn(i, &away[i])
		}
		w.checkSometimes()
	}
	exchange(t, w, 200, fitting(g, mixed))
}

// turn suspends or resumes a context.
func (w *world) turn(i int, away *bool) {
	r := w.ranks[i]
	if err := r.agent.Take(0); err != nil {
		w.t.Fatal(err)
	}
	defer r.agent.Leave()
	if *away = !*away; !*away {
		r.agent.Resume(w.now)
		r.agent.Follow()
		return
	}
	r.agent.Flush(w.now)
	for range w.rng.IntN(3) { // the flush deadline may pass before the peers have answered
		w.now += 10_000
		r.agent.Drive(w.now)
	}
	r.agent.Suspend(w.now)
	r.agent.Follow()
}

// TestAnswersTaken: a process whose questions are answered, but each time while the agent drives,
// does not give up the peer: also not if the answer is that the peer is not there yet.
func TestAnswersTaken(t *testing.T) {
	for name, fate := range map[string]func(d datagram) []datagram{
		"here":    nil,
		"not yet": notYet,
	} {
		t.Run(name, func(t *testing.T) { eachFlow(t, func(t *testing.T, g abi.Geometry) { answersTaken(t, g, fate) }) })
	}
}

// notYet changes what directories say.
func notYet(d datagram) []datagram {
	h, _, err := link.Parse(d.data)
	if err != nil || h.Kind != link.Here {
		return []datagram{d}
	}
	h.Status, h.Port = link.StatusNotYet, 0
	return []datagram{{d.from, d.to, encode(&h, "")}}
}

func answersTaken(t *testing.T, g abi.Geometry, fate func(d datagram) []datagram) {
	w := newWorld(t, 2, g)
	w.fate = fate
	from, to := w.ranks[0], w.ranks[1]
	for range 150 {
		w.now += int64(100 * time.Millisecond)
		if err := from.process.Space(1, 1); err != nil && !errors.Is(err, channels.ErrFull) {
			t.Fatalf("given up: %v", err)
		}
		from.send(1, []byte("x"))
		from.drive(byAgent)
		to.drive(byProcess)
		from.drive(byAgent)
		if m, ok := to.in.Poll(); ok {
			_ = to.in.Release(m)
		}
	}
}
