package ofi_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"score/pm"
	"score/pm/local/localtest"
	"score/pm/mem/atomics"
	"score/pm/ofi"
	"score/pm/tag"
	"score/pm/uct"
	"testing"
	"time"
)

// rank is a rank of a job that is in this process with all others.
type rank struct {
	d     *ofi.Domain
	cq    *ofi.CQ
	av    *ofi.AV
	ep    *ofi.Endpoint
	peers []ofi.Address // endpoints of all ranks

	closed bool // before the end of the test
}

type job []*rank

func start(t testing.TB, nodes, perNode, queue int, o ofi.EndpointOptions) job {
	t.Helper()
	var j job
	for _, ch := range localtest.Start(t, nodes, perNode, pm.DefaultSettings()).Channels {
		d := ofi.Open(ch)
		r := &rank{d: d, cq: d.CQ(queue), av: d.AV()}
		t.Cleanup(func() {
			if err := d.Close(); err != nil && !r.closed {
				t.Error(err)
			}
		})
		mine := o
		mine.AV, mine.Transmit, mine.Receive = r.av, r.cq, r.cq
		var err error
		if r.ep, err = d.Endpoint(mine); err != nil {
			t.Fatal(err)
		}
		j = append(j, r)
	}
	for _, r := range j {
		for _, other := range j {
			name := other.ep.Name()
			a, err := r.av.Insert(name[:])
			if err != nil {
				t.Fatal(err)
			}
			r.peers = append(r.peers, a)
		}
	}
	return j
}

func eachShape(t *testing.T, f func(t *testing.T, j job)) {
	localtest.EachShape(t, func(t *testing.T, nodes, perNode int) { f(t, start(t, nodes, perNode, 0, ofi.EndpointOptions{})) })
}

const patience = 20 * time.Second

// next is the rank's next completion.
func (j job) next(t testing.TB, of int) ofi.Entry {
	t.Helper()
	var e [1]ofi.Entry
	for start := time.Now(); j[of].cq.Read(e[:]) == 0; {
		for _, r := range j {
			r.d.Progress()
		}
		if time.Since(start) > patience {
			t.Fatal("no completion")
		}
	}
	return e[0]
}

// none checks that the rank has no completion.
func (j job) none(t testing.TB, of int) {
	t.Helper()
	for range 100 {
		for _, r := range j {
			r.d.Progress()
		}
	}
	var e [1]ofi.Entry
	if j[of].cq.Read(e[:]) != 0 {
		t.Errorf("rank %d has a completion: %+v", of, e[0])
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestMessagesComplete(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		for _, n := range []int{0, 8, 5000, 300_000} {
			for _, kind := range []ofi.Flags{0, ofi.Tagged} {
				data, got := localtest.RandomBytes(n), make([]byte, n)
				ok(t, j[1].ep.Receive(ofi.Receive{Buffer: got, From: ofi.AnyAddress, Tag: 5, Context: 1, Flags: kind}))
				ok(t, j[0].ep.Send(ofi.Send{Buffer: data, To: j[0].peers[1], Tag: 5, Data: 77, Context: 2, Flags: kind | ofi.RemoteData}))
				r, s := j.next(t, 1), j.next(t, 0)
				if r.Context != 1 || r.Length != uint64(n) || r.Data != 77 || r.Flags&(ofi.Received|ofi.RemoteData) != ofi.Received|ofi.RemoteData ||
					r.Source != j[1].peers[0] || r.Err != 0 || !bytes.Equal(got, data) {
					t.Errorf("%d bytes: received %+v", n, r)
				}
				if kind == ofi.Tagged && r.Tag != 5 {
					t.Errorf("tag %d", r.Tag)
				}
				if s.Context != 2 || s.Flags&ofi.Sent == 0 || s.Err != 0 {
					t.Errorf("%d bytes: sent %+v", n, s)
				}
			}
		}
	})
}

func TestDirectedReceive(t *testing.T) {
	j := start(t, 1, 3, 0, ofi.EndpointOptions{})
	ok(t, j[2].ep.Receive(ofi.Receive{Buffer: make([]byte, 8), From: j[2].peers[1], Context: 1, Flags: ofi.Tagged}))
	ok(t, j[0].ep.Send(ofi.Send{Buffer: []byte("from 0"), To: j[0].peers[2], Flags: ofi.Tagged}))
	j.none(t, 2)
	ok(t, j[1].ep.Send(ofi.Send{Buffer: []byte("from 1"), To: j[1].peers[2], Flags: ofi.Tagged}))
	if e := j.next(t, 2); e.Source != j[2].peers[1] {
		t.Errorf("%+v", e)
	}
}

func TestSelectiveInjectAndCounters(t *testing.T) {
	j := start(t, 1, 2, 0, ofi.EndpointOptions{SelectiveTransmit: true, SelectiveReceive: true})
	sends, receives := j[0].d.Counter(), j[1].d.Counter()
	j[0].ep.Bind(func(o *ofi.EndpointOptions) { o.Sends = sends })
	j[1].ep.Bind(func(o *ofi.EndpointOptions) { o.Receives = receives })
	for i := range 3 {
		flags := []ofi.Flags{0, ofi.Inject | ofi.Quiet, ofi.Completion}[i]
		ok(t, j[1].ep.Receive(ofi.Receive{Buffer: make([]byte, 8), From: ofi.AnyAddress, Context: 1, Flags: flags & ofi.Completion}))
		ok(t, j[0].ep.Send(ofi.Send{Buffer: make([]byte, 8), To: j[0].peers[1], Context: 2, Flags: flags}))
		if flags != ofi.Completion {
			j.none(t, 0)
			j.none(t, 1)
			continue
		}
		if j.next(t, 0).Context != 2 || j.next(t, 1).Context != 1 {
			t.Error("other completions than those asked for")
		}
	}
	if n, _ := sends.Value(); n != 3 {
		t.Errorf("%d sends", n)
	}
	if n, _ := receives.Value(); n != 3 {
		t.Errorf("%d receives", n)
	}
	if err := j[0].ep.Send(ofi.Send{Buffer: make([]byte, ofi.InjectSize+1), To: j[0].peers[1], Flags: ofi.Inject}); !errors.Is(err, ofi.ErrArgument) {
		t.Errorf("an injection too long: %v", err)
	}
}

func TestPeekClaimCancelAndTruncation(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		peek := ofi.Receive{From: ofi.AnyAddress, Tag: 9, Context: 4, Flags: ofi.Tagged | ofi.Peek}
		ok(t, j[1].ep.Receive(peek))
		if e := j.next(t, 1); e.Err != ofi.Errno(ofi.ErrNoMessage) || e.Context != 4 {
			t.Errorf("a peek at nothing: %+v", e)
		}
		for _, flags := range []ofi.Flags{ofi.Claim, ofi.Claim | ofi.Discard} {
			ok(t, j[0].ep.Send(ofi.Send{Buffer: []byte("12345678"), To: j[0].peers[1], Tag: 9, Flags: ofi.Tagged}))
			j.next(t, 0)
			peek.Flags = ofi.Tagged | ofi.Peek | ofi.Claim
			e := ofi.Entry{Err: ofi.Errno(ofi.ErrNoMessage)}
			for start := time.Now(); e.Err != 0 && time.Since(start) < patience; {
				ok(t, j[1].ep.Receive(peek))
				e = j.next(t, 1)
			}
			if e.Length != 8 || e.Tag != 9 || e.Source != j[1].peers[0] {
				t.Errorf("peeked %+v", e)
			}
			got := make([]byte, 4)
			ok(t, j[1].ep.Receive(ofi.Receive{Buffer: got, Context: 4, From: ofi.AnyAddress, Flags: ofi.Tagged | flags}))
			e = j.next(t, 1)
			if want := ofi.Errno(tag.ErrTruncated); flags == ofi.Claim && (e.Err != want || string(got) != "1234" || e.Length != 8) {
				t.Errorf("claimed %+v %q", e, got)
			}
			if err := j[1].ep.Receive(ofi.Receive{Context: 4, From: ofi.AnyAddress, Flags: ofi.Tagged | flags}); !errors.Is(err, ofi.ErrArgument) {
				t.Errorf("claimed twice: %v", err)
			}
		}
		ok(t, j[1].ep.Receive(ofi.Receive{From: ofi.AnyAddress, Context: 8, Flags: ofi.Tagged}))
		j[1].ep.Cancel(8)
		if e := j.next(t, 1); e.Err != ofi.Errno(tag.ErrCanceled) || e.Context != 8 {
			t.Errorf("canceled %+v", e)
		}
		j[1].ep.Cancel(8)
		j.none(t, 1)
	})
}

// TestAnswer: a receive of a claimed message answers it, if its tag asks for that.
func TestAnswer(t *testing.T) {
	const asks, tells = 1 << 32, 1 << 33
	eachShape(t, func(t *testing.T, j job) {
		for _, tt := range []struct {
			tag  uint64
			told bool
		}{{9 | asks, true}, {9, false}} {
			ok(t, j[0].ep.Receive(ofi.Receive{From: j[0].peers[1], Tag: 9 | tells, Context: 7, Flags: ofi.Tagged}))
			ok(t, j[0].ep.Send(ofi.Send{Buffer: []byte("text"), To: j[0].peers[1], Tag: tt.tag, Flags: ofi.Tagged | ofi.Inject}))
			j.next(t, 0)
			peek := ofi.Receive{From: ofi.AnyAddress, Tag: 9, Ignore: asks, Context: 4, Flags: ofi.Tagged | ofi.Peek | ofi.Claim}
			e := ofi.Entry{Err: ofi.Errno(ofi.ErrNoMessage)}
			for begun := time.Now(); e.Err != 0 && time.Since(begun) < patience; {
				ok(t, j[1].ep.Receive(peek))
				e = j.next(t, 1)
			}
			j.none(t, 0) // before the receive
			ok(t, j[1].ep.ReceiveClaimed(ofi.Receive{
				Buffer: make([]byte, 4), Context: 4, From: ofi.AnyAddress, Flags: ofi.Tagged,
			}, ofi.Answer{Asks: asks, Tells: tells}))
			if e := j.next(t, 1); e.Err != 0 || e.Tag != tt.tag || e.Length != 4 {
				t.Errorf("received %+v", e)
			}
			if tt.told {
				if e := j.next(t, 0); e.Err != 0 || e.Context != 7 || e.Tag != 9|tells || e.Length != 0 {
					t.Errorf("the answer is %+v", e)
				}
				continue
			}
			j.none(t, 0)
			j[0].ep.Cancel(7)
			j.next(t, 0)
		}
	})
}

func TestMultiReceive(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		j[1].ep.Bind(func(o *ofi.EndpointOptions) { o.MinMultiReceive = 1000 })
		ok(t, j[1].ep.Receive(ofi.Receive{Buffer: make([]byte, 4000), From: ofi.AnyAddress, Context: 1, Flags: ofi.MultiReceive}))
		for i, n := range []int{1500, 1000, 600} {
			ok(t, j[0].ep.Send(ofi.Send{Buffer: make([]byte, n), To: j[0].peers[1]}))
			if e := j.next(t, 1); e.Length != uint64(n) || (e.Flags&ofi.MultiReceive != 0) != (i == 2) || e.Buffer == 0 {
				t.Errorf("message %d: %+v", i, e)
			}
		}
	})
}

// TestQueueNeverDrops: completions that do not fit into the ring wait behind it.
func TestQueueNeverDrops(t *testing.T) {
	j := start(t, 1, 2, 4, ofi.EndpointOptions{})
	const n = 1000
	for i := range n {
		ok(t, j[1].ep.Receive(ofi.Receive{From: ofi.AnyAddress, Context: uintptr(i), Flags: ofi.Tagged}))
	}
	for range n {
		ok(t, j[0].ep.Send(ofi.Send{To: j[0].peers[1], Flags: ofi.Tagged | ofi.Inject | ofi.Quiet}))
		j[1].d.Progress()
	}
	for i := range n {
		if e := j.next(t, 1); e.Context != uintptr(i) {
			t.Fatalf("completion %d is of receive %d", i, e.Context)
		}
	}
}

func TestRemoteMemory(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		memory, events := make([]byte, 1<<20), j[1].d.Counter()
		mr, err := j[1].d.Register(memory, ofi.MROptions{Access: uct.RemoteAll, Key: 3, HasKey: true, Base: 1 << 32})
		ok(t, err)
		j[1].d.Watch(mr, events, events)
		if _, err := j[1].d.Register(memory, ofi.MROptions{Key: 3, HasKey: true}); !errors.Is(err, uct.ErrKeyInUse) {
			t.Errorf("the key again: %v", err)
		}
		at := ofi.Transfer{To: j[0].peers[1], Key: mr.Key(), Offset: 1<<32 + 100, Context: 5}
		for _, n := range []int{8, 300_000} {
			w := at
			w.Buffer, w.Data, w.Flags = localtest.RandomBytes(n), 99, ofi.RemoteData
			ok(t, j[0].ep.Write(w))
			if e := j.next(t, 0); e.Context != 5 || e.Flags&(ofi.RMA|ofi.Write) != ofi.RMA|ofi.Write || e.Err != 0 {
				t.Errorf("written: %+v", e)
			}
			if e := j.next(t, 1); e.Data != 99 || e.Length != uint64(n) || e.Flags&ofi.RemoteWrite == 0 || e.Source != j[1].peers[0] {
				t.Errorf("told: %+v", e)
			}
			r := at
			r.Buffer = make([]byte, n)
			ok(t, j[0].ep.Read(r))
			if e := j.next(t, 0); e.Err != 0 || !bytes.Equal(r.Buffer, w.Buffer) || !bytes.Equal(memory[100:100+n], w.Buffer) {
				t.Errorf("read: %+v", e)
			}
		}
		if n, _ := events.Value(); n == 0 {
			t.Error("the memory's counter did not count")
		}
		beyond := at
		beyond.Buffer, beyond.Offset = make([]byte, 8), 5
		ok(t, j[0].ep.Write(beyond))
		if e := j.next(t, 0); e.Err != ofi.Errno(uct.ErrRange) || e.Context != 5 {
			t.Errorf("beyond the memory: %+v", e)
		}
	})
}

func TestAtomics(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		memory := make([]byte, 64)
		mr, err := j[1].d.Register(memory, ofi.MROptions{Access: uct.RemoteAll})
		ok(t, err)
		word := func(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
		sum := uct.AtomicKind{Op: atomics.Sum, Type: atomics.Uint64}
		a := ofi.AtomicTransfer{Transfer: ofi.Transfer{Buffer: word(5), To: j[0].peers[1], Key: mr.Key(), Context: 6}, Kind: sum}
		ok(t, j[0].ep.Atomic(a))
		j.next(t, 0)
		a.Result = make([]byte, 8)
		ok(t, j[0].ep.Atomic(a))
		if e := j.next(t, 0); e.Err != 0 || e.Flags&ofi.Atomic == 0 || binary.LittleEndian.Uint64(a.Result) != 5 {
			t.Errorf("fetched %v: %+v", a.Result, e)
		}
		a.Kind, a.Compare, a.Buffer = uct.AtomicKind{Type: atomics.Uint64, Swap: true}, word(10), word(1)
		ok(t, j[0].ep.Atomic(a))
		if e := j.next(t, 0); e.Err != 0 || binary.LittleEndian.Uint64(memory) != 1 {
			t.Errorf("swapped to %v: %+v", memory[:8], e)
		}
	})
}

func TestAddresses(t *testing.T) {
	j := start(t, 1, 2, 0, ofi.EndpointOptions{})
	name := j[1].ep.Name()
	for _, bad := range [][]byte{nil, name[:ofi.NameBytes-1], make([]byte, ofi.NameBytes), append([]byte{name[0], name[1], name[2], name[3], 9}, name[5:]...)} {
		if _, err := j[0].av.Insert(bad); !errors.Is(err, ofi.ErrAddress) {
			t.Errorf("name %x: %v", bad, err)
		}
	}
	if got, err := j[0].av.Name(j[0].peers[1]); err != nil || got != name {
		t.Errorf("name %x: %v", got, err)
	}
	ok(t, j[0].av.Remove(j[0].peers[1]))
	for _, gone := range []ofi.Address{j[0].peers[1], 99} {
		if err := j[0].ep.Send(ofi.Send{To: gone}); !errors.Is(err, ofi.ErrAddress) {
			t.Errorf("to address %d: %v", gone, err)
		}
	}
	for n := 1; ; n++ {
		if _, err := j[0].d.Endpoint(ofi.EndpointOptions{}); err != nil {
			if !errors.Is(err, ofi.ErrNoPort) || n != tag.Ports {
				t.Errorf("endpoint %d: %v", n, err)
			}
			break
		}
	}
}

// TestLockEndsASleep: who wants the lock does not wait until a sleep with it ends by itself.
func TestLockEndsASleep(t *testing.T) {
	j := start(t, 1, 2, 0, ofi.EndpointOptions{})
	d := j[0].d
	d.Lock()
	slept := make(chan struct{})
	go func() {
		defer close(slept)
		defer d.Unlock()
		_ = d.Wait(context.Background())
	}()
	for start := time.Now(); ; {
		if d.Sleeping() {
			break
		}
		if time.Since(start) > patience {
			t.Fatal("it does not sleep")
		}
	}
	d.Lock()
	defer d.Unlock()
	if d.Sleeping() {
		t.Error("it sleeps without the lock")
	}
	<-slept
}

// TestNoNapBesideAnEntry: what another goroutine put into a queue, after its reader found it empty,
// does not wait until the reader's nap is over.
func TestNoNapBesideAnEntry(t *testing.T) {
	j := start(t, 1, 2, 0, ofi.EndpointOptions{})
	ok(t, j[0].ep.Receive(ofi.Receive{From: j[0].peers[1], Flags: ofi.Tagged | ofi.Peek}))
	begun := time.Now()
	for range 2 * int(patience/time.Second) { // a sleep of a channel ends after a second at most
		j[0].d.Nap(time.Hour, j[0].cq)
	}
	if took := time.Since(begun); took > patience {
		t.Errorf("naps took %v, and their queue has an entry", took)
	}
}

func TestNoAllocationPerMessage(t *testing.T) {
	j := start(t, 1, 2, 0, ofi.EndpointOptions{})
	data, got, entries := make([]byte, 8), make([]byte, 8), make([]ofi.Entry, 4)
	once := func() {
		_ = j[1].ep.Receive(ofi.Receive{Buffer: got, From: j[1].peers[0], Tag: 1, Flags: ofi.Tagged})
		_ = j[0].ep.Send(ofi.Send{Buffer: data, To: j[0].peers[1], Tag: 1, Flags: ofi.Tagged})
		for j[1].cq.Read(entries) == 0 {
			j[1].d.Progress()
		}
		for j[0].cq.Read(entries) == 0 {
			j[0].d.Progress()
		}
	}
	for range 100 {
		once()
	}
	if n := testing.AllocsPerRun(200, once); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
