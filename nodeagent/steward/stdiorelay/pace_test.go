package stdiorelay

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A pace holds: over any time no more is read than the rate gives, what may be read at once and one
// message more. A reader that waits as it is told reads nearly all that it may, and each wait has
// an end.
func TestPace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Uint64Range(64<<10, 1<<30).Draw(t, "rate")
		var p pace
		begin := time.Unix(1, 0)
		now := begin
		p.set(now, rate)
		var taken, largest int64
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 5_000_000).Draw(t, "pause")))
			if !p.allows(now) {
				next := p.next(now)
				if !next.After(now) {
					t.Fatalf("waits until %v after now", next.Sub(now))
				}
				now = next
				if !p.allows(now) {
					t.Fatalf("nothing may be read after the wait")
				}
			}
			p.set(now, rate) // it is told again
			bytes := rapid.IntRange(0, outputChunk).Draw(t, "bytes")
			p.charge(bytes)
			taken += int64(bytes) + messageCost
			largest = max(largest, int64(bytes)+messageCost)
			may := int64(now.Sub(begin).Seconds()*float64(rate)) + paceBurst + largest
			if taken > may {
				t.Fatalf("%d taken, at most %d", taken, may)
			}
		}
	})
}

// A pace that is not told again ends, and so does one that is lifted.
func TestPaceEnds(t *testing.T) {
	now := time.Unix(1, 0)
	var p pace
	exhaust := func() {
		t.Helper()
		p.set(now, 1<<20)
		for i := 0; p.allows(now); i++ {
			if i > 1000 {
				t.Fatal("there is no end to what may be read")
			}
			p.charge(outputChunk)
		}
	}
	exhaust()
	if p.set(now, 0); !p.allows(now) {
		t.Error("a lifted pace forbids")
	}
	exhaust()
	if now = now.Add(paceLasts); !p.allows(now) {
		t.Error("a pace that was not told again forbids")
	}
}
