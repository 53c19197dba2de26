package mem

import (
	"fmt"
	"score/pm/mem/atomics"
	"testing"
)

// BenchmarkCopy copies from another process: by the kernel, and from a mapping.
func BenchmarkCopy(b *testing.B) {
	c := startChild(b)
	p := c.open(b)
	const maxBytes = 4 << 20
	addr := c.askAddress(b, "memory %d m", maxBytes)
	m, err := p.Map(c.askHandle(b, "window %d w", maxBytes))
	if err != nil {
		b.Fatal(err)
	}
	target := make([]byte, maxBytes)
	for _, size := range []int{8, 4 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20} {
		b.Run(fmt.Sprintf("read/%d", size), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				if err := p.Read(target[:size], addr); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("write/%d", size), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				if err := p.Write(addr, target[:size]); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("mapping/%d", size), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				copy(target[:size], m.Bytes())
			}
		})
	}
}

func BenchmarkMap(b *testing.B) {
	c := startChild(b)
	p := c.open(b)
	h := c.askHandle(b, "window %d w", 1<<20)
	b.Run("hit", func(b *testing.B) {
		for b.Loop() {
			m, err := p.Map(h)
			if err != nil {
				b.Fatal(err)
			}
			_ = m.Release()
		}
	})
	b.Run("miss", func(b *testing.B) {
		p := openPeer(b, NewCache(0), c.pid(), c.start)
		for b.Loop() {
			m, err := p.Map(h)
			if err != nil {
				b.Fatal(err)
			}
			_ = m.Release()
		}
	})
}

func BenchmarkAlive(b *testing.B) {
	p := startChild(b).open(b)
	for b.Loop() {
		if !p.Alive() {
			b.Fatal("dead")
		}
	}
}

func BenchmarkWindow(b *testing.B) {
	for b.Loop() {
		w, err := NewWindow(4 << 20)
		if err != nil {
			b.Fatal(err)
		}
		_ = w.Close()
	}
}

func BenchmarkAdd(b *testing.B) {
	c := startChild(b)
	m, err := c.open(b).Map(c.askHandle(b, "window %d w", 4096))
	if err != nil {
		b.Fatal(err)
	}
	memory := m.Bytes()
	b.Run("uint64", func(b *testing.B) {
		sum, _ := atomics.Lookup(atomics.Sum, atomics.Uint64)
		one := []byte{7: 0, 0: 1}
		for b.Loop() {
			_ = sum(memory[64:72], one, nil)
		}
	})
	b.Run("float64", func(b *testing.B) {
		sum, _ := atomics.Lookup(atomics.Sum, atomics.Float64)
		one := []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x3f}
		for b.Loop() {
			_ = sum(memory[64:72], one, nil)
		}
	})
}
