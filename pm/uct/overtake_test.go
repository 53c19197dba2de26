package uct_test

import (
	"bytes"
	"score/pm/local/localtest"
	"score/pm/mem/atomics"
	"score/pm/uct"
	"testing"
)

// TestWritesDoNotOvertakeReads: a get returns what was there before the puts and atomics that were
// begun after it, however long it takes to answer.
func TestWritesDoNotOvertakeReads(t *testing.T) {
	sum := uct.AtomicKind{Op: atomics.Sum, Type: atomics.Uint8}
	for _, size := range []int{1, uct.MaxAtomicBytes, uct.MaxAtomicBytes + 1, 60_000, 3 << 20} {
		eachShape(t, func(t *testing.T, j job) {
			old, fresh := localtest.RandomBytes(size), localtest.RandomBytes(size)
			r, err := j[1].md.Register(bytes.Clone(old), uct.RemoteAll)
			if err != nil {
				t.Fatal(err)
			}
			j[0].iface.Handle(firstID, func(*uct.Packet) {})
			back := j.ep(t, 1, 0)
			for _, n := range []int{60_000, 1000, 0} { // no answer goes now
				for back.Send(uct.Header{ID: firstID}, make([]byte, n)) == nil {
				}
			}
			ep, at := j.ep(t, 0, 1), uct.Remote{Key: r.Key()}
			got, was := make([]byte, size), make([]byte, 1)
			var d done
			for _, begin := range []func() error{
				func() error { return ep.Get(got, at, &d) },
				func() error { return ep.Put(fresh, at, &d) },
				func() error { return ep.Atomic(sum, []byte{1}, at, &d) },
				func() error { return ep.FetchAtomic(sum, []byte{1}, nil, was, at, &d) },
			} {
				if err := begin(); err != nil {
					t.Fatal(err)
				}
			}
			for range 1000 { // the target serves what it met, and cannot answer
				j[1].worker.Progress()
			}
			j.until(t, func() bool { return d.n == 4 })
			if d.err != nil || !bytes.Equal(got, old) {
				t.Errorf("%d bytes: %v, or what was written later", size, d.err)
			}
			if fresh[0] += 2; was[0] != fresh[0]-1 || !bytes.Equal(r.Bytes(), fresh) {
				t.Errorf("%d bytes: the writes: %d, want %d", size, was[0], fresh[0]-1)
			}
		})
	}
}

// TestGetFollowsPuts: when a get has ended, the puts that were begun before it are done, though
// they went to other bytes: programs flush what they wrote by reading a byte, and then tell a third
// rank.
func TestGetFollowsPuts(t *testing.T) {
	for _, size := range []int{1, uct.MaxAtomicBytes + 1, 3 << 20} {
		eachShape(t, func(t *testing.T, j job) {
			r, err := j[1].md.Register(make([]byte, size+1), uct.RemoteAll)
			if err != nil {
				t.Fatal(err)
			}
			ep, fresh := j.ep(t, 0, 1), localtest.RandomBytes(size)
			var put, get done
			if err := ep.Put(fresh, uct.Remote{Key: r.Key()}, &put); err != nil {
				t.Fatal(err)
			}
			if err := ep.Get(make([]byte, 1), uct.Remote{Key: r.Key(), Offset: uint64(size)}, &get); err != nil {
				t.Fatal(err)
			}
			j.until(t, func() bool { return get.n == 1 })
			if get.err != nil || !bytes.Equal(r.Bytes()[:size], fresh) {
				t.Errorf("%d bytes were not there after a get: %v", size, get.err)
			}
			j.until(t, func() bool { return put.n == 1 })
		})
	}
}

// TestPutFollowsGets: when a put is served, the gets that were begun before it have read, though
// from other bytes: programs give a buffer back that they have read by writing a flag, and its
// owner fills it again.
func TestPutFollowsGets(t *testing.T) {
	for _, size := range []int{1, uct.MaxAtomicBytes + 1, 3 << 20} {
		eachShape(t, func(t *testing.T, j job) {
			old := localtest.RandomBytes(size)
			r, err := j[1].md.Register(append(bytes.Clone(old), 0), uct.RemoteAll)
			if err != nil {
				t.Fatal(err)
			}
			j[1].iface.HandleData(func(*uct.EP, uct.Ports, uint64, int) { clear(r.Bytes()) })
			ep, got := j.ep(t, 0, 1), make([]byte, size)
			var d done
			if err := ep.Get(got, uct.Remote{Key: r.Key()}, &d); err != nil {
				t.Fatal(err)
			}
			if err := ep.PutData([]byte{1}, uct.Remote{Key: r.Key(), Offset: uint64(size)}, 7, &d); err != nil {
				t.Fatal(err)
			}
			j.until(t, func() bool { return d.n == 2 })
			if d.err != nil || !bytes.Equal(got, old) {
				t.Errorf("%d bytes: %v, or what was written after the flag", size, d.err)
			}
		})
	}
}
