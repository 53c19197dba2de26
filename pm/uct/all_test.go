package uct_test

import (
	"bytes"
	"errors"
	"fmt"
	"score/pm/local/localtest"
	"score/pm/mem"
	"score/pm/mem/atomics"
	"score/pm/uct"
	"testing"

	"golang.org/x/sys/unix"
)

// fenced maps size bytes that can be used, and as many behind them that cannot.
func fenced(t *testing.T, size int) []byte {
	t.Helper()
	memory, err := unix.Mmap(-1, 0, 2*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(memory) })
	if err := unix.Mprotect(memory[size:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	return memory
}

// TestAllMemory: peers name memory by its address, and a wrong one is an error of their operation.
func TestAllMemory(t *testing.T) {
	if !mem.CanProbe() {
		t.Skip("this kernel cannot tell which memory there is, Linux from 5.14 on can")
	}
	eachShape(t, func(t *testing.T, j job) {
		all, err := j[1].md.RegisterAll(uct.RemoteAll)
		if err != nil {
			t.Fatal(err)
		}
		const size = 1 << 20
		memory := fenced(t, size)
		ep := j.ep(t, 0, 1)
		at := addressOf(memory)
		do := func(begin func(d *done) error) error {
			t.Helper()
			var d done
			j.retry(t, func() error { return begin(&d) })
			j.until(t, func() bool { return d.n == 1 })
			return d.err
		}
		for _, n := range []int{0, 8, 5000, 70_000, size} {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				data, back := localtest.RandomBytes(n), make([]byte, n)
				here := uct.Remote{Key: all.Key(), Offset: at + uint64(size-n)}
				if err := do(func(d *done) error { return ep.Put(data, here, d) }); err != nil || !bytes.Equal(memory[size-n:size], data) {
					t.Errorf("put: %v", err)
				}
				if err := do(func(d *done) error { return ep.Get(back, here, d) }); err != nil || !bytes.Equal(back, data) {
					t.Errorf("get: %v", err)
				}
				if n == 0 {
					return
				}
				for _, wrong := range []uint64{0, 1, at + size, here.Offset + 1, 1 << 63, 1<<64 - 4} {
					there := uct.Remote{Key: all.Key(), Offset: wrong}
					if err := do(func(d *done) error { return ep.Put(data, there, d) }); !errors.Is(err, uct.ErrRange) {
						t.Errorf("put at %#x: %v", wrong, err)
					}
					if err := do(func(d *done) error { return ep.Get(back, there, d) }); !errors.Is(err, uct.ErrRange) {
						t.Errorf("get at %#x: %v", wrong, err)
					}
				}
			})
		}
		sum, word := uct.AtomicKind{Op: atomics.Sum, Type: atomics.Uint64}, []byte{1, 0, 0, 0, 0, 0, 0, 0}
		before := memory[0]
		err = do(func(d *done) error { return ep.Atomic(sum, word, uct.Remote{Key: all.Key(), Offset: at}, d) })
		if err != nil || memory[0] != before+1 {
			t.Errorf("atomic: %v, from %d to %d", err, before, memory[0])
		}
		err = do(func(d *done) error { return ep.Atomic(sum, word, uct.Remote{Key: all.Key(), Offset: at + size}, d) })
		if !errors.Is(err, uct.ErrRange) {
			t.Errorf("atomic on no memory: %v", err)
		}
	})
}
