package keys

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func create(t testing.TB, ranks int) *Store {
	t.Helper()
	s, err := Create(ranks)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// dup is the descriptor as a reader gets it.
func dup(t testing.TB, file *os.File) *os.File {
	t.Helper()
	fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), "reader")
}

func open(t testing.TB, s *Store) *View {
	t.Helper()
	v, err := Open(dup(t, s.File()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	return v
}

// A reader finds what a map would have, and what it found stays as it was.
func TestAgainstAMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ranks := rapid.IntRange(1, 50).Draw(rt, "ranks")
		s, err := Create(ranks)
		if err != nil {
			rt.Fatal(err)
		}
		defer s.Close()
		v, err := Open(dup(t, s.File()))
		if err != nil {
			rt.Fatal(err)
		}
		defer v.Close()
		model := make(map[string]string)
		kept := make(map[string][]byte)
		for range rapid.IntRange(0, 60).Draw(rt, "puts") {
			rank := rapid.IntRange(0, ranks-1).Draw(rt, "rank")
			key := rapid.SampledFrom([]string{"card", "a", "b", "btl.tcp.4.1", "btl.tcp.4.2", strings.Repeat("k", MaxKey)}).Draw(rt, "key")
			value := rapid.StringN(0, 20, 2000).Draw(rt, "value")
			if err := s.Put(rank, key, value); err != nil {
				rt.Fatal(err)
			}
			name := fmt.Sprint(rank, " ", key)
			model[name] = value
			got, ok := v.Get(rank, key)
			if !ok || string(got) != value {
				rt.Fatalf("%s: %q, %v", name, got, ok)
			}
			kept[name+"="+value] = got
		}
		for name, value := range model {
			var rank int
			var key string
			fmt.Sscan(name, &rank, &key)
			if got, ok := v.Get(rank, key); !ok || string(got) != value {
				rt.Fatalf("%s: %q, %v", name, got, ok)
			}
			if _, ok := v.Get(rank, key+"x"); ok {
				rt.Fatal("a key that nobody put")
			}
		}
		for name, value := range kept {
			if _, want, _ := strings.Cut(name, "="); string(value) != want {
				rt.Fatalf("%s: it became %q", name, value)
			}
		}
	})
}

// Readers see values whole and none of them go back, while the writer writes: nobody waits for
// anybody.
func TestReadersBesideTheWriter(t *testing.T) {
	const ranks, rounds = 16, 400
	s := create(t, ranks)
	var written atomic.Int64 // rounds that are over
	var readers sync.WaitGroup
	for range 4 {
		v := open(t, s)
		readers.Go(func() {
			for last := int64(0); last < rounds; {
				last = written.Load()
				for rank := range ranks {
					value, ok := v.Get(rank, "card")
					if !ok && last > 0 {
						t.Error("a value is gone")
						return
					}
					if !ok {
						continue
					}
					number, rest, _ := strings.Cut(string(value), " ")
					var n int64
					fmt.Sscan(number, &n)
					if n < last || strings.Trim(rest, "x") != "" || len(rest) != int(n)%500 {
						t.Errorf("after round %d: %.20q of %d bytes", last, value, len(value))
						return
					}
				}
			}
		})
	}
	for n := 1; n <= rounds; n++ {
		for rank := range ranks {
			if err := s.Put(rank, "card", fmt.Sprintf("%d %s", n, strings.Repeat("x", n%500))); err != nil {
				t.Fatal(err)
			}
		}
		written.Store(int64(n))
	}
	readers.Wait()
}

// Who has the descriptor can read, and nothing else.
func TestReadersCannotWrite(t *testing.T) {
	s := create(t, 4)
	file := dup(t, s.File())
	defer file.Close()
	if _, err := file.WriteAt([]byte("x"), headBytes); err == nil {
		t.Error("a reader wrote")
	}
	if m, err := unix.Mmap(int(file.Fd()), 0, headBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
		t.Error("a reader mapped it to write")
		_ = unix.Munmap(m)
	}
	if err := file.Truncate(0); err == nil {
		t.Error("a reader cut it off")
	}
	if err := file.Truncate(1 << 40); err == nil {
		t.Error("a reader made it larger")
	}
	if err := s.Put(0, "k", "v"); err != nil {
		t.Errorf("the writer: %v", err)
	}
}

// Room is memory only when it is used.
func TestGrowsAsItIsWritten(t *testing.T) {
	s := create(t, 100_000)
	v := open(t, s)
	blocks := func() int64 {
		var stat unix.Stat_t
		if err := unix.Fstat(int(s.File().Fd()), &stat); err != nil {
			t.Fatal(err)
		}
		return stat.Blocks * 512
	}
	if empty := blocks(); empty > 64<<10 {
		t.Errorf("an empty store takes %d bytes", empty)
	}
	value := strings.Repeat("x", 1<<20)
	for i := range 64 {
		if err := s.Put(i, "large", value); err != nil {
			t.Fatal(err)
		}
	}
	if got, ok := v.Get(63, "large"); !ok || string(got) != value {
		t.Error("a reader that was there before does not find what is far behind")
	}
	if used := blocks(); used > 66<<20 {
		t.Errorf("64 MiB of values take %d bytes", used)
	}
	if err := s.Put(63, "large", value); err != nil || s.used-s.first() > 65<<20 {
		t.Errorf("the same value again: %v, %d bytes", err, s.used-s.first())
	}
}

func TestBounds(t *testing.T) {
	for _, ranks := range []int{-1, 0, MaxRanks + 1} {
		if _, err := Create(ranks); !errors.Is(err, ErrRank) {
			t.Errorf("%d ranks: %v", ranks, err)
		}
	}
	s := create(t, 2)
	v := open(t, s)
	for _, rank := range []int{-1, 2, math.MaxInt} {
		if err := s.Put(rank, "k", ""); !errors.Is(err, ErrRank) {
			t.Errorf("rank %d: %v", rank, err)
		}
		if _, ok := v.Get(rank, "k"); ok {
			t.Errorf("rank %d has a value", rank)
		}
	}
	for _, key := range []string{"", strings.Repeat("k", MaxKey+1)} {
		if err := s.Put(0, key, ""); !errors.Is(err, ErrTooLong) {
			t.Errorf("a key of %d bytes: %v", len(key), err)
		}
	}
	if err := s.Put(0, "k", strings.Repeat("v", MaxValue+1)); !errors.Is(err, ErrTooLong) {
		t.Errorf("a long value: %v", err)
	}
	half := strings.Repeat("v", MaxValue/2)
	if err := s.Put(0, "k", half); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(1, "k", half); !errors.Is(err, ErrFull) {
		t.Errorf("no room: %v", err)
	}
	if err := s.Put(1, "k", "v"); err != nil {
		t.Errorf("a small one after that: %v", err)
	}
	if v.Ranks() != 2 {
		t.Error(v.Ranks())
	}
}

// Files that are no stores are refused.
func TestOpenDistrusts(t *testing.T) {
	plain, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(plain); !errors.Is(err, ErrDamaged) {
		t.Errorf("a plain file: %v", err)
	}
	s := create(t, 3)
	for name, spoil := range map[string]func(head []byte){
		"magic": func(h []byte) { h[0]++ }, "no ranks": func(h []byte) { h[4] = 0 }, "more ranks": func(h []byte) { h[5]++ },
		"ranks beyond": func(h []byte) { h[7] = 0xff }, "buckets": func(h []byte) { h[8]++ }, "bytes": func(h []byte) { h[16]++ },
	} {
		before := append([]byte(nil), s.memory[:headBytes]...)
		spoil(s.memory)
		if _, err := Open(dup(t, s.File())); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
		copy(s.memory, before)
	}
	open(t, s)
}

// FuzzFind lets whoever writes the memory write anything: a reader stays inside, and comes to an
// end.
func FuzzFind(f *testing.F) {
	f.Add(uint32(0), []byte("key"), []byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, rank uint32, key, records []byte) {
		g := geometry{ranks: 4, buckets: 4}
		g.bytes = g.first() + uint64(len(records))&^7
		memory := make([]byte, g.bytes)
		copy(memory[g.first():], records)
		for bucket := range g.buckets {
			place := uint32(g.first() / unit)
			if int(bucket) < len(records) {
				place += uint32(records[bucket])
			}
			publish(memory, bucket, place)
			h := hash(rank, string(key))&^3 | bucket
			if value, ok := find(memory, &g, rank, h, string(key)); ok && len(value) > len(records) {
				t.Errorf("%d bytes of %d", len(value), len(records))
			}
		}
	})
}

func BenchmarkGet(b *testing.B) {
	for _, ranks := range []int{64, 64_000} {
		b.Run(fmt.Sprint("ranks=", ranks), func(b *testing.B) {
			s := create(b, ranks)
			card := strings.Repeat("c", 256)
			for rank := range ranks {
				if err := s.Put(rank, "-allgather-shm", card); err != nil {
					b.Fatal(err)
				}
			}
			v := open(b, s)
			b.ReportAllocs()
			rank := 0
			for b.Loop() {
				if _, ok := v.Get(rank, "-allgather-shm"); !ok {
					b.Fatal("gone")
				}
				if rank += 7; rank >= ranks {
					rank -= ranks
				}
			}
		})
	}
}

func BenchmarkPut(b *testing.B) {
	s := create(b, 64)
	card := strings.Repeat("c", 256)
	i := 0
	for b.Loop() {
		if s.Put(i%64, "-allgather-shm", card[:200+i%50]) != nil {
			s.Close()
			s = create(b, 64)
		}
		i++
	}
}
