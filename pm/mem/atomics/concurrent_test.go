package atomics

import (
	"errors"
	"sync"
	"testing"
)

// TestManyAtOnce adds to each element of a line from many goroutines: elements of 8 and 16 bits
// share a word, and no addition may be lost.
func TestManyAtOnce(t *testing.T) {
	const workers, rounds = 8, 2000
	for kind := range types {
		sum, _ := Lookup(Sum, kind)
		top, _ := Lookup(Max, kind)
		size := kind.Size()
		target, one := words(64), make([]byte, 64)
		for at := 0; at < len(one); at += size {
			switch kind {
			case Float32:
				store(one[at:], size, bitsOf32(1))
			case Float64:
				store(one[at:], size, 0x3ff0000000000000)
			default:
				store(one[at:], size, 1)
			}
		}
		var all sync.WaitGroup
		for range workers {
			all.Go(func() {
				for range rounds {
					if err := errors.Join(sum(target[:32], one[:32], nil), top(target[32:], one[32:], nil)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		total := uint64(workers * rounds)
		switch kind {
		case Float32:
			total = bitsOf32(workers * rounds)
		case Float64:
			total = 0x40cf400000000000 // 16000
		default:
			total &= ^uint64(0) >> (64 - 8*uint(size))
		}
		for at := 0; at < 32; at += size {
			if got := load(target[at:], size); got != total {
				t.Errorf("%v: %#x, want %#x", kind, got, total)
			}
			if got, want := load(target[32+at:], size), load(one, size); got != want {
				t.Errorf("max of %v: %#x, want %#x", kind, got, want)
			}
		}
	}
}

func TestNothingIsAllocated(t *testing.T) {
	target, operand, result := words(64), make([]byte, 64), make([]byte, 64)
	for op := range ops {
		for kind := range types {
			f, ok := Lookup(op, kind)
			if !ok {
				continue
			}
			if n := testing.AllocsPerRun(10, func() { _ = f(target, operand, result) }); n != 0 {
				t.Errorf("%v of %v: %v allocations", op, kind, n)
			}
		}
	}
	if n := testing.AllocsPerRun(10, func() { _ = CompareAndSwap(Int64, target, operand, operand, result) }); n != 0 {
		t.Errorf("compare and swap: %v allocations", n)
	}
}

func BenchmarkElement(b *testing.B) {
	m, one := words(8), []byte{0: 1, 7: 0}
	for _, c := range []struct {
		op   Op
		kind Type
	}{{Sum, Int64}, {Sum, Float64}, {Max, Int64}, {Sum, Int8}, {NoOp, Int64}} {
		f, _ := Lookup(c.op, c.kind)
		size := c.kind.Size()
		b.Run(c.op.String()+"/"+c.kind.String(), func(b *testing.B) {
			for b.Loop() {
				_ = f(m[:size], one[:size], nil)
			}
		})
	}
}
