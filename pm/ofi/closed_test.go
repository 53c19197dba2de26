package ofi_test

import (
	"bytes"
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

// TestPortsInTurn: an endpoint does not take the port of one that was just closed, to which peers
// may still send.
func TestPortsInTurn(t *testing.T) {
	j := start(t, 1, 2, 4, ofi.EndpointOptions{})
	seen := map[uint8]bool{}
	for range 20 {
		e, err := j[0].d.Endpoint(ofi.EndpointOptions{})
		ok(t, err)
		if seen[e.Port()] {
			t.Fatalf("port %d again", e.Port())
		}
		seen[e.Port()] = true
		ok(t, e.Close())
	}
}

// TestWatchedMemory: counters of memory count what changes it as writes, also what fetches.
func TestWatchedMemory(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		memory, reads, writes := make([]byte, 64), j[1].d.Counter(), j[1].d.Counter()
		mr, err := j[1].d.Register(memory, ofi.MROptions{Access: uct.RemoteAll})
		ok(t, err)
		j[1].d.Watch(mr, reads, writes)
		at := ofi.Transfer{Buffer: make([]byte, 8), To: j[0].peers[1], Key: mr.Key()}
		kind := func(op atomics.Op) uct.AtomicKind { return uct.AtomicKind{Op: op, Type: atomics.Uint64} }
		got := make([]byte, 8)
		for _, c := range []struct {
			what          string
			begin         func() error
			reads, writes uint64 // after it
		}{
			{"write", func() error { return j[0].ep.Write(at) }, 0, 1},
			{"sum", func() error { return j[0].ep.Atomic(ofi.AtomicTransfer{Transfer: at, Kind: kind(atomics.Sum)}) }, 0, 2},
			{"fetch", func() error {
				return j[0].ep.Atomic(ofi.AtomicTransfer{Transfer: at, Kind: kind(atomics.Sum), Result: got})
			}, 0, 3},
			{"compare", func() error {
				return j[0].ep.Atomic(ofi.AtomicTransfer{
					Transfer: at, Kind: uct.AtomicKind{Swap: true, Type: atomics.Uint64}, Compare: make([]byte, 8), Result: got,
				})
			}, 0, 4},
			{"look", func() error {
				look := at
				look.Buffer = nil
				return j[0].ep.Atomic(ofi.AtomicTransfer{Transfer: look, Kind: kind(atomics.NoOp), Result: got})
			}, 1, 4},
			{"read", func() error { return j[0].ep.Read(at) }, 2, 4},
		} {
			ok(t, c.begin())
			if e := j.next(t, 0); e.Err != 0 {
				t.Fatalf("%s: %+v", c.what, e)
			}
			r, _ := reads.Value()
			w, _ := writes.Value()
			if r != c.reads || w != c.writes {
				t.Errorf("after the %s: %d reads, %d writes", c.what, r, w)
			}
		}
	})
}

// TestClosedObjects: operations on a closed endpoint fail with the number of a bad descriptor, also
// when its domain is closed; closing it again changes nothing.
func TestClosedObjects(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		r := j[0]
		to := r.peers[1]
		refused := func(when string) {
			t.Helper()
			sum := uct.AtomicKind{Op: atomics.Sum, Type: atomics.Uint64}
			transfer := ofi.Transfer{Buffer: make([]byte, 8), To: to, Key: 1}
			for name, err := range map[string]error{
				"send":    r.ep.Send(ofi.Send{Buffer: make([]byte, 8), To: to}),
				"inject":  r.ep.Send(ofi.Send{Buffer: make([]byte, 8), To: to, Flags: ofi.Inject}),
				"receive": r.ep.Receive(ofi.Receive{Buffer: make([]byte, 8), From: ofi.AnyAddress}),
				"write":   r.ep.Write(transfer),
				"read":    r.ep.Read(transfer),
				"atomic":  r.ep.Atomic(ofi.AtomicTransfer{Transfer: transfer, Kind: sum}),
			} {
				if !errors.Is(err, uct.ErrClosed) && !errors.Is(err, tag.ErrClosed) || ofi.Errno(err) != 9 {
					t.Errorf("%s, %s: %v, number %d", name, when, err, ofi.Errno(err))
				}
			}
			r.ep.Cancel(1)
		}
		for range 2 {
			ok(t, r.ep.Close())
			refused("endpoint closed")
		}
		r.closed = true
		ok(t, r.d.Close())
		refused("domain closed")
		if err := r.d.Close(); err != nil && !errors.Is(err, uct.ErrClosed) {
			t.Error(err)
		}
	})
}

// TestCountedReads: ranks that share CPUs read memory without its rank's turn, until that counts
// reads.
func TestCountedReads(t *testing.T) {
	t.Setenv(pm.EnvCPURanks, "2")
	j := start(t, 1, 2, 0, ofi.EndpointOptions{})
	mr, err := j[1].d.Register(localtest.RandomBytes(64), ofi.MROptions{Access: uct.RemoteAll})
	ok(t, err)
	got := make([]byte, 64)
	read := func() (alone bool) {
		ok(t, j[0].ep.Read(ofi.Transfer{Buffer: got, To: j[0].peers[1], Key: mr.Key()}))
		var e [1]ofi.Entry
		if alone = j[0].cq.Read(e[:]) == 1; !alone {
			e[0] = j.next(t, 0)
		}
		if e[0].Err != 0 || !bytes.Equal(got, mr.Bytes()) {
			t.Fatalf("%+v, or wrong bytes", e[0])
		}
		return alone
	}
	for begin := time.Now(); !read(); { // the first ask how
		if time.Since(begin) > patience {
			t.Fatal("each read waits for the other rank")
		}
	}
	reads := j[1].d.Counter()
	j[1].ep.Bind(func(o *ofi.EndpointOptions) { o.RemoteReads = reads })
	read()
	if n, _ := reads.Value(); n != 1 {
		t.Errorf("%d reads were counted", n)
	}
	j[1].ep.Bind(func(o *ofi.EndpointOptions) { o.RemoteReads = nil })
	j[1].d.Watch(mr, reads, nil)
	read()
	if n, _ := reads.Value(); n != 2 {
		t.Errorf("%d reads were counted by the memory", n)
	}
}
