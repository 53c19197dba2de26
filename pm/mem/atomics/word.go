package atomics

import "sync/atomic"

// Load32 returns the word at the offset.
func Load32(memory []byte, offset int) (uint32, error) {
	p, err := word32(memory, offset)
	if err != nil {
		return 0, err
	}
	return atomic.LoadUint32(p), nil
}

// Load64 returns the word at the offset.
func Load64(memory []byte, offset int) (uint64, error) {
	p, err := word64(memory, offset)
	if err != nil {
		return 0, err
	}
	return atomic.LoadUint64(p), nil
}

// Store32 replaces the word at the offset.
func Store32(memory []byte, offset int, v uint32) error {
	p, err := word32(memory, offset)
	if err != nil {
		return err
	}
	atomic.StoreUint32(p, v)
	return nil
}

// Store64 replaces the word at the offset.
func Store64(memory []byte, offset int, v uint64) error {
	p, err := word64(memory, offset)
	if err != nil {
		return err
	}
	atomic.StoreUint64(p, v)
	return nil
}

// Add32 adds to the word at the offset and returns what it was.
func Add32(memory []byte, offset int, v uint32) (old uint32, err error) {
	return do32(memory, offset, v, add32)
}

// Add64 adds to the word at the offset and returns what it was.
func Add64(memory []byte, offset int, v uint64) (old uint64, err error) {
	return do64(memory, offset, v, add64)
}

// And32 clears the bits that v has not, and returns what the word was.
func And32(memory []byte, offset int, v uint32) (old uint32, err error) {
	return do32(memory, offset, v, atomic.AndUint32)
}

// And64 clears the bits that v has not, and returns what the word was.
func And64(memory []byte, offset int, v uint64) (old uint64, err error) {
	return do64(memory, offset, v, atomic.AndUint64)
}

// Or32 sets the bits that v has, and returns what the word was.
func Or32(memory []byte, offset int, v uint32) (old uint32, err error) {
	return do32(memory, offset, v, atomic.OrUint32)
}

// Or64 sets the bits that v has, and returns what the word was.
func Or64(memory []byte, offset int, v uint64) (old uint64, err error) {
	return do64(memory, offset, v, atomic.OrUint64)
}

// Xor32 inverts the bits that v has, and returns what the word was.
func Xor32(memory []byte, offset int, v uint32) (old uint32, err error) {
	return do32(memory, offset, v, xor32)
}

// Xor64 inverts the bits that v has, and returns what the word was.
func Xor64(memory []byte, offset int, v uint64) (old uint64, err error) {
	return do64(memory, offset, v, xor64)
}

// Swap32 replaces the word at the offset and returns what it was.
func Swap32(memory []byte, offset int, v uint32) (old uint32, err error) {
	return do32(memory, offset, v, atomic.SwapUint32)
}

// Swap64 replaces the word at the offset and returns what it was.
func Swap64(memory []byte, offset int, v uint64) (old uint64, err error) {
	return do64(memory, offset, v, atomic.SwapUint64)
}

// CompareAndSwap32 replaces the word at the offset if it equals compare, and returns what it was.
func CompareAndSwap32(memory []byte, offset int, compare, v uint32) (old uint32, err error) {
	p, err := word32(memory, offset)
	if err != nil {
		return 0, err
	}
	return compareAndSwap32(p, compare, v), nil
}

// CompareAndSwap64 replaces the word at the offset if it equals compare, and returns what it was.
func CompareAndSwap64(memory []byte, offset int, compare, v uint64) (old uint64, err error) {
	p, err := word64(memory, offset)
	if err != nil {
		return 0, err
	}
	return compareAndSwap64(p, compare, v), nil
}

func do32(memory []byte, offset int, v uint32, op func(*uint32, uint32) uint32) (uint32, error) {
	p, err := word32(memory, offset)
	if err != nil {
		return 0, err
	}
	return op(p, v), nil
}

func do64(memory []byte, offset int, v uint64, op func(*uint64, uint64) uint64) (uint64, error) {
	p, err := word64(memory, offset)
	if err != nil {
		return 0, err
	}
	return op(p, v), nil
}

func add32(p *uint32, v uint32) uint32 { return atomic.AddUint32(p, v) - v }
func add64(p *uint64, v uint64) uint64 { return atomic.AddUint64(p, v) - v }

func xor32(p *uint32, v uint32) uint32 {
	for {
		old := atomic.LoadUint32(p)
		if atomic.CompareAndSwapUint32(p, old, old^v) {
			return old
		}
	}
}

func xor64(p *uint64, v uint64) uint64 {
	for {
		old := atomic.LoadUint64(p)
		if atomic.CompareAndSwapUint64(p, old, old^v) {
			return old
		}
	}
}

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
