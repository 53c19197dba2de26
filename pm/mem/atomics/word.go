package atomics

import "sync/atomic"

func add32(p *uint32, v uint32) uint32 { return atomic.AddUint32(p, v) - v }
func add64(p *uint64, v uint64) uint64 { return atomic.AddUint64(p, v) - v }

// compareAndSwap32 returns a value other than compare exactly if it did not swap.
func compareAndSwap32(p *uint32, compare, v uint32) uint32 {
	for {
		if atomic.CompareAndSwapUint32(p, compare, v) {
			return compare
		}
		if old := atomic.LoadUint32(p); old != compare {
			return old
		}
	}
}

// compareAndSwap64 returns a value other than compare exactly if it did not swap.
func compareAndSwap64(p *uint64, compare, v uint64) uint64 {
	for {
		if atomic.CompareAndSwapUint64(p, compare, v) {
			return compare
		}
		if old := atomic.LoadUint64(p); old != compare {
			return old
		}
	}
}

func load32(p *uint32, _ uint32) uint32 { return atomic.LoadUint32(p) }
func load64(p *uint64, _ uint64) uint64 { return atomic.LoadUint64(p) }
