package keys

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"os"

	"golang.org/x/sys/unix"
)

// seals: nobody can cut the file off under a reader, or map it to write. The writer has mapped it
// before.
const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_FUTURE_WRITE | unix.F_SEAL_SEAL

// Store is the writer's side. One goroutine at a time uses it.
type Store struct {
	geometry
	file   *os.File
	memory []byte
	used   uint64
	// changed has a bit for each group with values that were not announced.
	changed uint32
}

// Create makes the store of a job. The error is ErrRank or the system's.
func Create(ranks int) (*Store, error) {
	if ranks < 1 || ranks > MaxRanks {
		return nil, ErrRank
	}
	s := &Store{geometry: plan(ranks)}
	const name = "score-keys"
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	s.file = os.NewFile(uintptr(fd), name)
	if err := s.prepare(fd); err != nil {
		s.file.Close()
		return nil, fmt.Errorf("keys: making the store: %w", err)
	}
	s.used = s.first()
	return s, nil
}

func (s *Store) prepare(fd int) (err error) {
	if err = unix.Ftruncate(fd, int64(s.bytes)); err != nil {
		return err
	}
	if s.memory, err = unix.Mmap(fd, 0, int(s.bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return err
	}
	s.encode(s.memory)
	if _, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		_ = unix.Munmap(s.memory) // it is of no use
	}
	return err
}

// File is what readers get; it stays the store's.
func (s *Store) File() *os.File { return s.file }

// Close releases the store. Readers keep what they have.
func (s *Store) Close() error {
	return errors.Join(unix.Munmap(s.memory), s.file.Close())
}

// Put adds a value, which from then on all readers find. One that is there already is not added
// again. The error is ErrRank, ErrTooLong or ErrFull.
func (s *Store) Put(rank int, key, value string) error {
	if rank < 0 || rank >= int(s.ranks) {
		return ErrRank
	}
	if key == "" || len(key) > MaxKey || len(value) > MaxValue {
		return ErrTooLong
	}
	h := hash(uint32(rank), key)
	bucket := h & (s.buckets - 1)
	if old, ok := find(s.memory, &s.geometry, uint32(rank), h, key); ok && string(old) == value {
		return nil
	}
	size := padded(len(key), len(value))
	if size > s.bytes-s.used {
		return ErrFull
	}
	r := s.memory[s.used : s.used+size]
	binary.NativeEndian.PutUint32(r[0:], newest(s.memory, bucket))
	binary.NativeEndian.PutUint32(r[4:], uint32(rank))
	binary.NativeEndian.PutUint32(r[8:], h)
	binary.NativeEndian.PutUint32(r[12:], uint32(len(key)))
	binary.NativeEndian.PutUint32(r[16:], uint32(len(value)))
	copy(r[recordBytes:], key)
	copy(r[recordBytes+len(key):], value)
	publish(s.memory, bucket, uint32(s.used/unit))
	s.used += size
	s.changed |= 1 << (bucket % countGroups)
	return nil
}

// Announce wakes readers that wait for values that were put since the last call. Get finds these
// values without it.
func (s *Store) Announce() {
	for ; s.changed != 0; s.changed &= s.changed - 1 {
		announce(s.memory, uint32(bits.TrailingZeros32(s.changed)))
	}
}
