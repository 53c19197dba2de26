package uct_test

import (
	"bytes"
	"errors"
	"score/pm"
	"score/pm/local/localtest"
	"score/pm/uct"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMaxRMA: operations that are longer than an interface does are refused, and have no effect.
func TestMaxRMA(t *testing.T) {
	huge, err := unix.Mmap(-1, 0, uct.MaxRMA+4096, unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
	if err != nil {
		t.Skipf("the system has no address space for it: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(huge); err != nil {
			t.Error(err)
		}
	})
	eachShape(t, func(t *testing.T, j job) {
		ep := j.ep(t, 0, 1)
		long := huge[:uct.MaxRMA+1]
		for name, err := range map[string]error{
			"put":      ep.Put(long, uct.Remote{}, nil),
			"put data": ep.PutData(long, uct.Remote{}, 1, nil),
			"get":      ep.Get(long, uct.Remote{}, nil),
			"pull":     ep.Pull(long, uct.Exposed{}, nil),
		} {
			if !errors.Is(err, uct.ErrTooLong) || !ep.Quiet() {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// TestLengthOfPut: the target learns the whole length of a put, also beyond 32 bits.
func TestLengthOfPut(t *testing.T) {
	v := newVictim(t, 1, 2)
	got := 0
	v.job[1].iface.HandleData(func(_ *uct.EP, _ uct.Ports, _ uint64, length int) { got = length })
	v.send(t, packet(uct.Header{ID: uct.IDPut, Bits: uct.Bit | 5<<2, Arg: 3}, 7, 0, 1))
	v.settle(t)
	if got != 5<<32+3 {
		t.Errorf("a put of %d bytes", got)
	}
}

// TestCacheBelowOneWindow: a window that is larger than the memory for mappings is used all the
// same, and not kept beside another.
func TestCacheBelowOneWindow(t *testing.T) {
	var j job
	for _, ch := range localtest.Start(t, 1, 2, pm.DefaultSettings()).Channels {
		r := &rank{worker: uct.NewWorker(), md: uct.NewMD(1)}
		r.iface = r.worker.Open(ch, r.md)
		t.Cleanup(func() { _, _ = r.worker.Close(), r.md.Close() })
		j = append(j, r)
	}
	ep := j.ep(t, 0, 1)
	for turn := range 4 {
		w, err := j[1].md.Alloc(1<<20, uct.RemoteAll)
		if err != nil {
			t.Fatal(err)
		}
		data, back := localtest.RandomBytes(1<<20), make([]byte, 1<<20)
		var d done
		for _, begin := range []func() error{
			func() error { return ep.Put(data, uct.Remote{Key: w.Key()}, &d) },
			func() error { return ep.Get(back, uct.Remote{Key: w.Key()}, &d) },
		} {
			j.retry(t, begin)
			j.until(t, ep.Quiet)
		}
		if d.err != nil || !bytes.Equal(back, data) {
			t.Errorf("window %d: %v", turn, d.err)
		}
	}
}

// TestKeyNamesOtherMemory: a get during which its key is registered for other memory has the bytes
// of one of both, or ends with ErrKey.
func TestKeyNamesOtherMemory(t *testing.T) {
	const size, key = 4 << 20, 50
	j := start(t, 2, 1)
	ep := j.ep(t, 0, 1)
	failed := 0
	for steps := range 60 {
		first, second := bytes.Repeat([]byte{1}, size), bytes.Repeat([]byte{2}, size)
		r, err := j[1].md.RegisterKey(key, first, uct.RemoteRead)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, size)
		var d done
		j.retry(t, func() error { return ep.Get(got, uct.Remote{Key: key}, &d) })
		for range steps {
			j[0].worker.Progress()
			j[1].worker.Progress()
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if r, err = j[1].md.RegisterKey(key, second, uct.RemoteRead); err != nil {
			t.Fatal(err)
		}
		j.until(t, func() bool { return d.n == 1 && ep.Quiet() })
		switch {
		case d.err != nil && !errors.Is(d.err, uct.ErrKey):
			t.Errorf("after %d steps: %v", steps, d.err)
		case d.err != nil:
			failed++
		case !bytes.Equal(got, first) && !bytes.Equal(got, second):
			t.Errorf("after %d steps: the bytes of both", steps)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if failed == 0 {
		t.Error("no key was taken in the middle of a get")
	}
}
