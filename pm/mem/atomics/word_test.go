package atomics

import (
	"errors"
	"sync"
	"testing"
)

func TestWords(t *testing.T) {
	const a, b = 0x0ff0_0ff0_1234_5678, 0xff00_00ff_8765_4321
	type op64 = func([]byte, int, uint64) (uint64, error)
	type op32 = func([]byte, int, uint32) (uint32, error)
	for _, c := range []struct {
		name string
		wide op64
		word op32
		want uint64
	}{
		{"add", Add64, Add32, 0},
		{"and", And64, And32, a & b},
		{"or", Or64, Or32, a | b},
		{"xor", Xor64, Xor32, a ^ b},
		{"swap", Swap64, Swap32, b},
	} {
		x, y := uint64(a), uint64(b)
		if c.name == "add" {
			c.want = x + y
		}
		m := words(24)
		check := func(step string, err error, ok bool) {
			t.Helper()
			if err != nil || !ok {
				t.Errorf("%s: %s: %v, memory %x", c.name, step, err, m)
			}
		}
		check("store", Store64(m, 8, x), true)
		old, err := c.wide(m, 8, y)
		check("64 bits", err, old == x)
		now, err := Load64(m, 8)
		check("load", err, now == c.want)
		check("store", Store32(m, 16, uint32(x)), true)
		old32, err := c.word(m, 16, uint32(y))
		check("32 bits", err, old32 == uint32(x))
		now32, err := Load32(m, 16)
		check("load", err, now32 == uint32(c.want) && m[0] == 0 && m[20] == 0)
	}
}

func TestCompareAndSwapWords(t *testing.T) {
	m := words(8)
	_ = Store64(m, 0, 5)
	if old, err := CompareAndSwap64(m, 0, 4, 9); err != nil || old != 5 || m[0] != 5 {
		t.Errorf("unequal: %d, %v, now %d", old, err, m[0])
	}
	if old, err := CompareAndSwap64(m, 0, 5, 9); err != nil || old != 5 || m[0] != 9 {
		t.Errorf("equal: %d, %v, now %d", old, err, m[0])
	}
	if old, err := CompareAndSwap32(m, 0, 8, 1); err != nil || old != 9 || m[0] != 9 {
		t.Errorf("unequal: %d, %v, now %d", old, err, m[0])
	}
	if old, err := CompareAndSwap32(m, 0, 9, 1); err != nil || old != 9 || m[0] != 1 {
		t.Errorf("equal: %d, %v, now %d", old, err, m[0])
	}
}

func TestPlaces(t *testing.T) {
	m := words(16)
	const most = int(^uint(0) >> 1)
	for _, c := range []struct {
		offset       int
		want4, want8 error
	}{
		{0, nil, nil},
		{8, nil, nil},
		{4, nil, ErrAlign},
		{1, ErrAlign, ErrAlign},
		{2, ErrAlign, ErrAlign},
		{12, nil, ErrRange},
		{13, ErrRange, ErrRange},
		{16, ErrRange, ErrRange},
		{-1, ErrRange, ErrRange},
		{-8, ErrRange, ErrRange},
		{most, ErrRange, ErrRange},
		{-most - 1, ErrRange, ErrRange},
	} {
		if _, err := Add32(m, c.offset, 1); !errors.Is(err, c.want4) {
			t.Errorf("32 bits at %d: %v", c.offset, err)
		}
		if _, err := Add64(m, c.offset, 1); !errors.Is(err, c.want8) {
			t.Errorf("64 bits at %d: %v", c.offset, err)
		}
	}
	bad := func(calls ...func() error) {
		for i, call := range calls {
			if err := call(); !errors.Is(err, ErrRange) {
				t.Errorf("call %d in no memory: %v", i, err)
			}
		}
	}
	bad(
		func() error { _, err := Load32(nil, 0); return err },
		func() error { _, err := Load64(nil, 0); return err },
		func() error { return Store32(nil, 0, 1) },
		func() error { return Store64(nil, 0, 1) },
		func() error { _, err := CompareAndSwap32(nil, 0, 0, 1); return err },
		func() error { _, err := CompareAndSwap64(nil, 0, 0, 1); return err },
	)
}

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
	if n := testing.AllocsPerRun(10, func() { _, _ = Xor64(target, 8, 5) }); n != 0 {
		t.Errorf("xor: %v allocations", n)
	}
}

func BenchmarkWord(b *testing.B) {
	m := words(64)
	for b.Loop() {
		_, _ = Add64(m, 8, 1)
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
