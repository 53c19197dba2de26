package channels

import (
	"errors"
	"math/rand/v2"
	"score/channels/abi"
	"testing"
)

// TestFindFindsWhatThereIs compares with a look at each bit, in maps that are full of holes.
func TestFindFindsWhatThereIs(t *testing.T) {
	const seed = 1
	random := rand.New(rand.NewPCG(seed, 0))
	for range 1000 {
		b := heapImage(t, 2, abi.Geometry{SendBytes: 65536, MaxMessage: 40000}).SendBuffer()
		for at := uint32(0); at < b.granules(); {
			used, n := random.IntN(2) == 0, 1+random.Uint32N(1<<random.IntN(9))
			n = min(n, b.granules()-at)
			if used {
				b.setBits(at, n, true)
			}
			at += n
		}
		b.hint = random.Uint32N(b.words)
		n := 1 + random.Uint32N(1<<random.IntN(10))
		first, ok := b.find(n)
		if want := b.longestRun() >= n; ok != want {
			t.Fatalf("%d granules in a row: found %v, there %v", n, ok, want)
		}
		for g := first; ok && g < first+n; g++ {
			if b.used(g) {
				t.Fatalf("granule %d of %d to %d is used", g, first, first+n)
			}
		}
	}
}

func (b *SendBuffer) used(g uint32) bool { return *b.word(g / 64)&(1<<(g%64)) != 0 }

func (b *SendBuffer) longestRun() (longest uint32) {
	for g, run := uint32(0), uint32(0); g < b.granules(); g++ {
		run++
		if b.used(g) {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

// BenchmarkReserve is in a buffer that has no space left but for short messages.
func BenchmarkReserve(b *testing.B) {
	img, err := Create(Identity{Job: 1}, abi.Geometry{Ranks: 2, LocalRanks: 1}, []uint32{0})
	if err != nil {
		b.Fatal(err)
	}
	defer img.Close()
	buf := img.SendBuffer()
	for g := uint32(0); g < buf.granules(); g += 20 {
		buf.setBits(g, 10, true)
	}
	for name, length := range map[string]int{"short": 8, "full": 5000} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				k, _, err := buf.Reserve(length)
				if err == nil {
					err = buf.Free(k)
				}
				if err != nil && !errors.Is(err, ErrFull) {
					b.Fatal(err)
				}
			}
		})
	}
}
