package link

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"
)

// wire is a port whose datagrams stay with it.
type wire struct {
	room    [MaxDatagram]byte
	queued  [][]byte
	flushed [][]byte
}

func (w *wire) Local() Address         { return somewhere }
func (w *wire) Size(Address) int       { return MaxDatagram }
func (w *wire) Buffer() []byte         { return w.room[:] }
func (w *wire) Queue(_ Address, n int) { w.queued = append(w.queued, bytes.Clone(w.room[:n])) }

func (w *wire) Flush()                            { w.flushed, w.queued = append(w.flushed, w.queued...), nil }
func (w *wire) Receive(func(Address, []byte)) int { return 0 }
func (w *wire) Stats() Stats                      { return Stats{Dropped: 1} }
func (w *wire) Close() error                      { return nil }
func (w *wire) numbers() (ns []uint32, bad int) {
	for _, d := range w.flushed {
		h, _, err := Parse(d)
		if err != nil {
			bad++
			continue
		}
		ns = append(ns, h.Channel)
	}
	return ns, bad
}

var somewhere = AddressOf(netip.MustParseAddrPort("192.0.2.1:1"))

// bad is a port with the faults, and its wire and clock.
func bad(t *testing.T, faults string) (p *faulty, w *wire, now *time.Time) {
	t.Helper()
	f, err := ParseFaults(faults)
	if err != nil {
		t.Fatal(err)
	}
	w, now = &wire{}, &time.Time{}
	p = WithFaults(w, f).(*faulty)
	p.now = func() time.Time { return *now }
	return p, w, now
}

// send sends numbered datagrams, some in each flush.
func send(p Port, from, to int) {
	var w Writer
	for i := from; i < to; i++ {
		w.Begin(p.Buffer(), MinDatagram, &Head{Kind: Where, Channel: uint32(i)})
		p.Queue(somewhere, w.Finish(0))
		if i%5 == 0 {
			p.Flush()
		}
	}
	p.Flush()
}

const many = 10000

// about reports whether n is what is expected of many rolls of the dice, with the seeds of these
// tests.
func about(n int, probability float64) bool {
	return n > int(many*probability*0.8) && n < int(many*probability*1.2)
}

func TestLoss(t *testing.T) {
	p, w, _ := bad(t, "loss=0.1,seed=1")
	send(p, 0, many)
	got, wrong := w.numbers()
	if lost := many - len(got); !about(lost, 0.1) || wrong > 0 || !slices.IsSorted(got) || p.Stats().Dropped != uint64(lost)+1 {
		t.Errorf("%d lost, %d wrong, %+v", lost, wrong, p.Stats())
	}
}

func TestDuplicates(t *testing.T) {
	p, w, _ := bad(t, "dup=0.1,seed=1")
	send(p, 0, many)
	got, wrong := w.numbers()
	if twice := len(got) - many; !about(twice, 0.1) || wrong > 0 || !slices.IsSorted(got) {
		t.Errorf("%d twice, %d wrong", twice, wrong)
	}
}

// TestCorruption: a receiver notices each damaged datagram.
func TestCorruption(t *testing.T) {
	p, w, _ := bad(t, "corrupt=0.1,seed=1")
	send(p, 0, many)
	if got, wrong := w.numbers(); !about(wrong, 0.1) || wrong+len(got) != many || !slices.IsSorted(got) {
		t.Errorf("%d good, %d wrong", len(got), wrong)
	}
}

// guardedWire is a wire whose transport guards bytes.
type guardedWire struct{ wire }

func (w *guardedWire) Guarded() bool { return true }

// TestFaultsGuard: the transport guards the bytes but for what is corrupted above it.
func TestFaultsGuard(t *testing.T) {
	for _, c := range []struct {
		port Port
		f    Faults
		want bool
	}{
		{&guardedWire{}, Faults{Loss: 0.1}, true},
		{&guardedWire{}, Faults{Loss: 0.1, Corrupt: 0.1}, false},
		{&wire{}, Faults{Loss: 0.1}, false},
	} {
		if got := WithFaults(c.port, c.f).(Guarded).Guarded(); got != c.want {
			t.Errorf("%T with %v: %v", c.port, c.f, got)
		}
	}
}

func TestReorder(t *testing.T) {
	p, w, now := bad(t, "reorder=0.1,seed=1")
	send(p, 0, many)
	*now = now.Add(strayTime)
	p.Receive(nil) // lets the last ones go
	got, wrong := w.numbers()
	late, newest := 0, uint32(0)
	for _, n := range got {
		if n < newest {
			late++
			if newest-n > 3*overtakers {
				t.Errorf("%d comes after %d", n, newest)
			}
		}
		newest = max(newest, n)
	}
	slices.Sort(got)
	if len(got) != many || wrong > 0 || len(slices.Compact(got)) != many || late < many/20 {
		t.Errorf("%d came, %d late, %d wrong", len(got), late, wrong)
	}
}

func TestDelay(t *testing.T) {
	p, w, now := bad(t, "delay=200us,seed=1")
	send(p, 0, 10)
	*now = now.Add(199 * time.Microsecond)
	send(p, 10, 20)
	if len(w.flushed) > 0 {
		t.Errorf("%d came early", len(w.flushed))
	}
	*now = now.Add(time.Microsecond)
	p.Receive(nil)
	if got, _ := w.numbers(); len(got) != 10 || !slices.IsSorted(got) {
		t.Errorf("after the delay: %v", got)
	}
	*now = now.Add(time.Hour)
	p.Buffer()
	p.Flush()
	if got, _ := w.numbers(); len(got) != 20 || !slices.IsSorted(got) {
		t.Errorf("at last: %v", got)
	}
}

// TestHeldIsBounded: nothing is lost when more is held than there may be.
func TestHeldIsBounded(t *testing.T) {
	p, w, _ := bad(t, "delay=1s,seed=1")
	send(p, 0, 3*maxHeld)
	if got, _ := w.numbers(); len(got) != 2*maxHeld || len(p.held) != maxHeld || !slices.IsSorted(got) {
		t.Errorf("%d went, %d held", len(got), len(p.held))
	}
}

// TestSeed: the same seed, the same faults.
func TestSeed(t *testing.T) {
	trace := func(faults string) []byte {
		p, w, now := bad(t, faults)
		for i := range 1000 {
			send(p, i, i+1)
			*now = now.Add(10 * time.Microsecond)
		}
		return bytes.Join(w.flushed, nil)
	}
	const faults = "loss=0.1,dup=0.1,reorder=0.1,corrupt=0.1,delay=50us"
	if a, b := trace(faults+",seed=7"), trace(faults+",seed=7"); !bytes.Equal(a, b) {
		t.Error("twice the same seed, different faults")
	}
	if a, b := trace(faults), trace(faults); bytes.Equal(a, b) {
		t.Error("no seed, the same faults")
	}
}

func TestFaultyPortIsAPort(t *testing.T) {
	w := &wire{}
	if p := WithFaults(w, Faults{Seed: 1}); p != Port(w) {
		t.Error("a port without faults was wrapped")
	}
	p, w, _ := bad(t, "loss=1e-9,seed=1")
	first := p.Buffer()
	if second := p.Buffer(); len(first) != MaxDatagram || &first[0] != &second[0] {
		t.Error("not the same room before Queue")
	}
	p.Queue(somewhere, 0)
	p.Flush()
	if len(w.flushed) > 0 {
		t.Error("an empty datagram went")
	}
	binary.LittleEndian.PutUint32(p.Buffer(), 5)
	p.Queue(somewhere, 4)
	p.Flush()
	if len(w.flushed) != 1 || !bytes.Equal(w.flushed[0], []byte{5, 0, 0, 0}) {
		t.Errorf("%v", w.flushed)
	}
}

func TestParseFaults(t *testing.T) {
	for s, want := range map[string]Faults{
		"": {},
		"loss=0.05,dup=0.02,reorder=0.1,corrupt=0.01,delay=200us,seed=7": {0.05, 0.02, 0.1, 0.01, 200 * time.Microsecond, 7},
		" loss=1 , delay=0 ": {Loss: 1},
	} {
		got, err := ParseFaults(s)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v", s, got, err)
		}
		if again, err := ParseFaults(got.String()); err != nil || again != got {
			t.Errorf("%q: %v, %v", got, again, err)
		}
	}
	for _, s := range []string{
		"loss", "loss=", "loss=1.1", "dup=-0.1", "corrupt=NaN", "reorder=x", "delay=5",
		"delay=-1s", "delay=11s", "seed=-1", "los=0.1", "loss=0.1,,",
	} {
		if got, err := ParseFaults(s); !errors.Is(err, ErrFaults) || got != (Faults{}) {
			t.Errorf("%q: %+v, %v", s, got, err)
		}
	}
	t.Setenv(FaultsVariable, "loss=0.5")
	if f, err := FaultsFromEnvironment(); err != nil || f != (Faults{Loss: 0.5}) {
		t.Errorf("%+v, %v", f, err)
	}
	t.Setenv(FaultsVariable, "loss")
	if _, err := FaultsFromEnvironment(); !errors.Is(err, ErrFaults) {
		t.Error(err)
	}
}

// TestHeldIsDue: a datagram that nothing follows is not kept by an owner that sleeps: Wait returns
// when to call.
func TestHeldIsDue(t *testing.T) {
	p, w, now := bad(t, "reorder=1,seed=1")
	if _, holds := p.Wait(); holds {
		t.Error("it holds something before anything was sent")
	}
	send(p, 1, 2)
	if wait, holds := p.Wait(); !holds || wait != strayTime {
		t.Errorf("a stray waits %v, %v", wait, holds)
	}
	*now = now.Add(strayTime)
	if wait, holds := p.Wait(); !holds || wait != 0 {
		t.Errorf("a stray that is due waits %v, %v", wait, holds)
	}
	p.Flush()
	if got, _ := w.numbers(); len(got) != 1 {
		t.Errorf("%d came", len(got))
	}
	if _, holds := p.Wait(); holds {
		t.Error("it holds what has gone")
	}
}
