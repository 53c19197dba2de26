package drive

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"score/channels"
	"score/channels/abi"
	"score/channels/link"
	"score/flowctl"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// checkCredits checks the invariants of credits at each rank that gives some: what is promised has
// room beside what lies in the lane, and the sum that drivers keep is the sum over all ranks.
func (w *world) checkCredits() {
	w.t.Helper()
	for _, r := range w.ranks {
		if err := r.creditsHold(); err != nil {
			w.t.Fatalf("rank %d: %v", r.number, err)
		}
	}
}

// checkEvery is how many steps share one check: it takes longer than they.
const checkEvery = 16

// checkSometimes is checkCredits after each checkEvery-th step.
func (w *world) checkSometimes() {
	if w.checks++; w.checks%checkEvery == 0 {
		w.checkCredits()
	}
}

func (r *rank) creditsHold() error {
	g := r.img.Geometry()
	if g.Flow != abi.FlowCredits {
		return nil
	}
	d := r.process
	promised, reserved := uint32(0), uint32(0)
	for rank := range g.Ranks {
		if _, recv, err := r.img.Flow(rank); err == nil {
			promised += d.flow.Policy.Promised(&d.flow, recv)
			reserved += d.flow.Policy.Reserved(&d.flow, recv)
		}
	}
	if kept := d.credit.first + r.img.Extra(); kept != reserved {
		return fmt.Errorf("%d places are reserved, the image says %d", reserved, kept)
	}
	lane, err := r.img.Delivery()
	if err != nil {
		return err
	}
	used := lane.Lines() - lane.Free() // a pad included
	if need := used + uint64(promised)*g.PlaceLines(); need >= lane.Lines()+g.PlaceLines()-1 {
		return fmt.Errorf("%d lines are used and %d places promised, of %d lines", used, promised, lane.Lines())
	}
	if reserved > g.Places() {
		return fmt.Errorf("%d places are reserved, there are %d", reserved, g.Places())
	}
	return nil
}

// TestNeverRefused: without loss, whoever sends with credits is not refused, whatever the size of
// the lane, the number of senders and the lengths of the messages, and whoever drives.
func TestNeverRefused(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ranks := rapid.IntRange(2, 6).Draw(rt, "ranks")
		longest := rapid.SampledFrom([]uint32{16, 48, 200, 1008}).Draw(rt, "longest")
		g := abi.Geometry{Flow: abi.FlowCredits, MaxMessage: longest, NetBytes: abi.PageBytes, LaneBytes: 1 << 14, SharedBytes: 1 << 14}
		for g.Ranks, g.LocalRanks = uint32(ranks), 1; g.WithDefaults().Check() != nil; {
			g.NetBytes *= 2
		}
		g.NetBytes <<= rapid.IntRange(0, 3).Draw(rt, "larger")
		w := newWorld(t, ranks, g)
		defer w.close()
		w.rng = rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		w.step = w.checkSometimes
		w.lazy = rapid.SampledFrom([]int{0, 10}).Draw(rt, "lazy")
		count := rapid.IntRange(1, 40).Draw(rt, "count")
		exchange(t, w, count, func(i int) int { return min(16+i*397%1500, int(longest)) })
		for _, r := range w.ranks {
			if n := r.img.Counter(abi.Nacked); n != 0 {
				rt.Fatalf("rank %d refused %d frames", r.number, n)
			}
		}
	})
}

// TestCreditsCounted: a sender that runs dry asks, and gets more than its first credits.
func TestCreditsCounted(t *testing.T) {
	w := newWorld(t, 2, abi.Geometry{Flow: abi.FlowCredits})
	for i := range 40 {
		exchangeOne(t, w, i, 30)
	}
	if n := w.ranks[0].img.Counter(abi.CreditRequests); n != 0 {
		t.Errorf("%d requests of a sender that is answered each time", n)
	}
	from, to := w.ranks[0], w.ranks[1]
	for i := range 20 {
		if !from.send(1, message(0, 1, i, 30)) {
			t.Fatal("no space")
		}
	}
	settle(t, w)
	if from.img.Counter(abi.CreditRequests) == 0 || to.img.Counter(abi.CreditsGranted) < 40+20 {
		t.Errorf("%d requests, %d credits granted", from.img.Counter(abi.CreditRequests), to.img.Counter(abi.CreditsGranted))
	}
	w.checkCredits()
}

// TestCreditsOfTheDead go back to the pool, whoever drives by then.
func TestCreditsOfTheDead(t *testing.T) {
	w := newWorld(t, 3, abi.Geometry{Flow: abi.FlowCredits})
	to := w.ranks[1]
	for i := range 30 { // asks for more on the way
		if !w.ranks[0].send(1, message(0, 1, i, 30)) {
			t.Fatal("no space")
		}
	}
	settle(t, w)
	first := to.process.credit.first
	if to.process.credit.reserved <= first {
		t.Fatalf("%d places are reserved, %d from the start", to.process.credit.reserved, first)
	}
	to.asAgent(func(d *Driver) {
		d.PeerEnded(0, link.EndDied)
		d.PeerEnded(0, link.EndDied)
	})
	if rank, ok := to.process.Gone(); rank != 0 || !ok {
		t.Fatalf("gone: %d, %v", rank, ok)
	}
	to.drive(byProcess)
	if got, want := to.process.credit.reserved, first/2; got != want {
		t.Errorf("%d places are reserved when one of two ranks has died, want %d", got, want)
	}
	w.checkCredits()
	to.replaceAgent(t)
	to.drive(byAgent)
	w.checkCredits()
}

// TestAgentKilledCounting: an agent was killed after a credit was spent or granted, and before that
// was counted.
func TestAgentKilledCounting(t *testing.T) {
	for name, last := range map[string]func(d *Driver, p *peer){
		"spent":   func(d *Driver, p *peer) { p.recv.OnData(&d.flow, d.now, flowctl.Data{Seq: p.recv.Next()}, 1) },
		"granted": func(d *Driver, p *peer) { d.flow.Policy.Room(&d.flow, p.recv, 500) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 2, abi.Geometry{Flow: abi.FlowCredits})
			to := w.ranks[1]
			for i := range 30 { // asks for more on the way
				if !w.ranks[0].send(1, message(0, 1, i, 30)) {
					t.Fatal("no space")
				}
			}
			settle(t, w)
			if err := to.agent.Take(0); err != nil {
				t.Fatal(err)
			}
			d := to.agent
			p := d.peer(0)
			data := flowctl.Data{Seq: p.recv.Next(), Mark: flowctl.MarkWant}
			if name == "granted" {
				d.takeData(p, data, 1)
			}
			last(d, p)
			if to.creditsHold() == nil {
				t.Fatal("it was counted all the same")
			}
			to.replaceAgent(t)
			to.drive(byAgent)
			w.checkCredits()
		})
	}
}

// TestOtherFlow: ranks that use different flow controls both get the error, and no message of
// theirs is taken; also if the first answer is lost.
func TestOtherFlow(t *testing.T) {
	for _, lost := range []int{0, 1} {
		for _, by := range []who{byProcess, byAgent} {
			t.Run(fmt.Sprintf("%d lost, by the agent %v", lost, by == byAgent), func(t *testing.T) { otherFlow(t, lost, by) })
		}
	}
}

func otherFlow(t *testing.T, lost int, by who) {
	w := newWorld(t, 3, abi.Geometry{})
	w.odd(1)
	w.fate = func(d datagram) []datagram {
		if h, _ := parse(t, d.data); h.Kind == link.End && lost > 0 {
			lost--
			return nil
		}
		return []datagram{d}
	}
	from, to := w.ranks[0], w.ranks[1]
	if !from.send(1, []byte("a")) || !from.send(2, []byte("b")) {
		t.Fatal("no space")
	}
	for range 100 {
		w.now += int64(time.Millisecond)
		for _, r := range w.ranks {
			r.drive(by)
		}
	}
	for _, c := range []struct {
		who  *rank
		peer uint32
	}{{from, 1}, {to, 0}} {
		c.who.drive(byProcess)
		if err := c.who.process.Space(c.peer, 1); !errors.Is(err, channels.ErrFlow) {
			t.Errorf("rank %d about rank %d: %v", c.who.number, c.peer, err)
		}
		if rank, ok := c.who.process.Gone(); rank != c.peer || !ok || !errors.Is(c.who.process.Cause(rank), channels.ErrFlow) {
			t.Errorf("rank %d is told of rank %d, %v", c.who.number, rank, ok)
		}
	}
	if _, ok := to.in.Poll(); ok {
		t.Error("a message of another flow control was taken")
	}
	if m, ok := w.ranks[2].in.Poll(); !ok || string(m.Head()) != "b" {
		t.Error("the third rank is not reached")
	}
}

// odd makes a rank's context again, with credits.
func (w *world) odd(number int) {
	g := w.ranks[number].img.Geometry()
	where := w.ranks[number].process.where
	w.ranks[number] = w.newRank(number, g.WithFlow(abi.FlowCredits), where)
}

// TestFlowNumbers: datagrams and images have the same numbers.
func TestFlowNumbers(t *testing.T) {
	if uint32(link.FlowNack) != abi.FlowNack || uint32(link.FlowCredits) != abi.FlowCredits {
		t.Error("they differ")
	}
}

// TestCreditsFor: first credits for all, a pool for those that talk, and all of it within the lane.
func TestCreditsFor(t *testing.T) {
	for _, tt := range []struct {
		ranks uint32
		want  flowctl.Credits
	}{
		{1, flowctl.Credits{Initial: 16, Chunk: 112}},
		{2, flowctl.Credits{Initial: 16, Chunk: 112}},
		{9, flowctl.Credits{Initial: 16, Chunk: 111}},
		{64, flowctl.Credits{Initial: 4, Chunk: 96}},
		{1024, flowctl.Credits{Initial: 1, Chunk: 1}},
		{1 << 20, flowctl.Credits{Initial: 1, Chunk: 1}},
	} {
		g := abi.Geometry{Ranks: tt.ranks, LocalRanks: tt.ranks, Flow: abi.FlowCredits}.WithDefaults()
		if got := creditsFor(g); got != tt.want || got.Check() != nil {
			t.Errorf("%d ranks: %+v, want %+v", tt.ranks, got, tt.want)
		}
	}
}
