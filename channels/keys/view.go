package keys

import (
	"encoding/binary"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// View is a reader's side. Any number of goroutines may use it, but for Close.
type View struct {
	geometry
	memory []byte
}

// Open maps a store that somebody else writes. It takes the file over, also when it fails. The
// error wraps ErrDamaged or is the system's.
func Open(file *os.File) (*View, error) {
	defer file.Close()
	got, err := unix.FcntlInt(file.Fd(), unix.F_GET_SEALS, 0)
	if err != nil || got&seals != seals {
		return nil, fmt.Errorf("%w: the file can still be changed", ErrDamaged)
	}
	var head [headBytes]byte
	if _, err := file.ReadAt(head[:], 0); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	g, err := decode(head[:], info.Size())
	if err != nil {
		return nil, err
	}
	memory, err := unix.Mmap(int(file.Fd()), 0, int(g.bytes), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("keys: mapping the store: %w", err)
	}
	return &View{geometry: g, memory: memory}, nil
}

// Close unmaps the store: values that Get has given must not be used any more.
func (v *View) Close() error { return unix.Munmap(v.memory) }

// Ranks is the size of the job.
func (v *View) Ranks() int { return int(v.ranks) }

// Get returns the newest value of a rank's key, in place: it must not be changed, and lasts until
// Close. It takes no lock, makes no system call and allocates nothing.
func (v *View) Get(rank int, key string) (value []byte, ok bool) {
	if rank < 0 || rank >= int(v.ranks) {
		return nil, false
	}
	return find(v.memory, &v.geometry, uint32(rank), hash(uint32(rank), key), key)
}

// Await is Get for a value that may not be there yet: it sleeps until the value comes, at most for
// timeout. ok is false when that time is over. The writer does not know who waits. The error is
// ErrRank or the system's.
func (v *View) Await(rank int, key string, timeout time.Duration) (value []byte, ok bool, err error) {
	if rank < 0 || rank >= int(v.ranks) {
		return nil, false, ErrRank
	}
	h := hash(uint32(rank), key)
	group := h & (v.buckets - 1) % countGroups
	for until := time.Now().Add(timeout); ; {
		seen := announced(v.memory, group) // read before the search: a later value changes it
		if value, ok = find(v.memory, &v.geometry, uint32(rank), h, key); ok {
			return value, true, nil
		}
		left := time.Until(until)
		if left <= 0 {
			return nil, false, nil
		}
		if err := awaitCount(v.memory, group, seen, left); err != nil {
			return nil, false, os.NewSyscallError("futex", err)
		}
	}
}

// find goes through a bucket from the newest record to the oldest. A record's place is always below
// that of the one after it, so that this ends whatever stands there.
func find(memory []byte, g *geometry, rank, h uint32, key string) (value []byte, ok bool) {
	limit := g.bytes
	for place := newest(memory, h&(g.buckets-1)); place != 0; {
		at := uint64(place) * unit
		if at < g.first() || at+recordBytes > limit {
			return nil, false
		}
		r := memory[at : at+recordBytes : at+recordBytes]
		next := binary.NativeEndian.Uint32(r[0:])
		if binary.NativeEndian.Uint32(r[8:]) == h && binary.NativeEndian.Uint32(r[4:]) == rank {
			n, m := uint64(binary.NativeEndian.Uint32(r[12:])), uint64(binary.NativeEndian.Uint32(r[16:]))
			if n+m > limit-at-recordBytes {
				return nil, false
			}
			data := memory[at+recordBytes : at+recordBytes+n+m : at+recordBytes+n+m]
			if string(data[:n]) == key {
				return data[n:], true
			}
		}
		if next >= place {
			return nil, false
		}
		limit, place = at, next
	}
	return nil, false
}
