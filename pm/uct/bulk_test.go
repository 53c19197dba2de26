package uct_test

import (
	"bytes"
	"score/channels/link"
	"score/pm"
	"score/pm/local/localtest"
	"score/pm/uct"
	"testing"

	"golang.org/x/sys/unix"
)

// TestBulk: long pulls, gets and puts between nodes go as bulk datagrams, whatever the network does
// to them, and each byte is right.
func TestBulk(t *testing.T) {
	for _, faults := range []string{"", "loss=0.1,dup=0.1,reorder=0.2,seed=3", "corrupt=0.2,seed=5"} {
		t.Run(faults, func(t *testing.T) {
			settings := pm.DefaultSettings()
			var err error
			if settings.Faults, err = link.ParseFaults(faults); err != nil {
				t.Fatal(err)
			}
			j := startWith(t, 2, 1, settings)
			const size = 3<<20 + 5
			source, to := localtest.RandomBytes(size), make([]byte, size)
			r, err := j[1].md.Register(to, uct.RemoteAll)
			if err != nil {
				t.Fatal(err)
			}
			ep := j.ep(t, 0, 1)
			var d done
			notified := 0
			j[1].iface.HandleData(func(_ *uct.EP, _ uct.Ports, data uint64, length int) {
				if notified++; data != 7 || length != size || !bytes.Equal(to, source) {
					t.Errorf("data %d, length %d", data, length)
				}
			})
			j.retry(t, func() error { return ep.PutData(source, uct.Remote{Key: r.Key()}, 7, &d) })
			last := bytes.Clone(source[:8])
			j.retry(t, func() error { return ep.Put(last, uct.Remote{Key: r.Key()}, &d) })
			got := make([]byte, size)
			j.retry(t, func() error { return ep.Get(got, uct.Remote{Key: r.Key()}, &d) })
			j.until(t, func() bool { return d.n == 3 && notified == 1 })
			if d.err != nil || !bytes.Equal(got, source) {
				t.Error("put and get:", d.err)
			}
			clear(got)
			x := j[1].md.Expose(to)
			j.retry(t, func() error { return ep.Pull(got, x, &d) })
			j.until(t, func() bool { return d.n == 4 })
			if d.err != nil || !bytes.Equal(got, source) {
				t.Error("pull:", d.err)
			}
			j.until(t, ep.Quiet)
			if j[1].iface.Counts().Bulk < 2*size || j[0].iface.Counts().Bulk < size || j[0].iface.Owed()+j[1].iface.Owed() != 0 {
				t.Errorf("%+v, %+v", j[0].iface.Counts(), j[1].iface.Counts())
			}
		})
	}
}

// TestBulkMemoryIsUnmapped: memory that is gone is an error, at its owner and at the reader.
func TestBulkMemoryIsUnmapped(t *testing.T) {
	const size = 4 << 20
	for name, here := range map[string]bool{"the owner's": false, "the reader's": true} {
		t.Run(name, func(t *testing.T) {
			j := start(t, 2, 1)
			// Not unmapped: the runtime could map other memory there.
			gone, err := unix.Mmap(-1, 0, size, unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = unix.Munmap(gone) }()
			source, to := gone, make([]byte, size)
			if here {
				source, to = to, gone
			}
			x := j[1].md.Expose(source)
			ep := j.ep(t, 0, 1)
			var d done
			j.retry(t, func() error { return ep.Pull(to, x, &d) })
			j.until(t, func() bool { return d.n == 1 && ep.Quiet() })
			if d.err == nil || ep.Err() != nil {
				t.Errorf("%v, %v", d.err, ep.Err())
			}
		})
	}
}

// TestBulkLies: lies about pieces, keys and numbers end in an error for the liar, and no memory
// beside the region is touched.
func TestBulkLies(t *testing.T) {
	const maxUint64 = ^uint64(0)
	for name, c := range map[string]struct {
		message []byte
		ends    bool // the peer is given up
	}{
		"ask, short":           {packet(uct.Header{ID: uct.IDAsk}, 7, 0), true},
		"ask, no key":          {packet(uct.Header{ID: uct.IDAsk, Arg: 1}, 99, 0, 10, 0, 10, 0), false},
		"ask, beyond":          {packet(uct.Header{ID: uct.IDAsk, Arg: 1}, 7, 0, guard+1, 0, 10, 0), false},
		"ask, piece beyond":    {packet(uct.Header{ID: uct.IDAsk, Arg: 1}, 7, 0, guard, guard, 1, 0), false},
		"ask, piece wraps":     {packet(uct.Header{ID: uct.IDAsk, Arg: 1}, 7, 0, guard, maxUint64, 2, 9<<32), false},
		"ask, nothing":         {packet(uct.Header{ID: uct.IDAsk, Arg: 1}, 7, 0, guard, 0, 0, 9<<32), false},
		"ask, somebody's port": {packet(uct.Header{ID: uct.IDAsk, Arg: 1}, 7, 0, guard, 0, guard, 9<<32), false},
		"probe, short":         {packet(uct.Header{ID: uct.IDProbe, Arg: 1}, 0, 10), true},
		"probe, no call":       {packet(uct.Header{ID: uct.IDProbe, Arg: 1}, 1<<63, maxUint64, 1), false},
		"sent, short":          {packet(uct.Header{ID: uct.IDSent, Arg: 1}, 0, 10), true},
		"sent, no call":        {packet(uct.Header{ID: uct.IDSent, Arg: 1}, 0, 10, 1), false},
		"sent, far call":       {packet(uct.Header{ID: uct.IDSent, Arg: 1 << 31}, 0, 10, 1), false},
		"sent, no status":      {packet(uct.Header{ID: uct.IDSent, Arg: 1, Bits: 200}, 0, 10, 1), true},
		"put, no key":          {packet(uct.Header{ID: uct.IDPutPull}, 99, 0, 10, 1, 0), false},
		"put, beyond":          {packet(uct.Header{ID: uct.IDPutPull}, 7, 1, guard, 1, 0), false},
		"put, wraps":           {packet(uct.Header{ID: uct.IDPutPull}, 7, maxUint64, 2, 1, 0), false},
		"put, never sent":      {packet(uct.Header{ID: uct.IDPutPull}, 7, 0, guard, 1<<62, 0), false},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVictim(t, 2, 1)
			v.send(t, c.message)
			v.settle(t)
			ep, _ := v.job[1].iface.EP(0)
			if (ep.Err() != nil) != c.ends {
				t.Errorf("the peer: %v", ep.Err())
			}
			v.checkGuards(t)
		})
	}
}
