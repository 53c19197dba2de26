package nodeagent_test

import (
	"encoding/binary"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"score/nodeagent/realtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// gapNanos is how long a spinning rank must not have run for it to count as
// stopped: interrupts are shorter, a switch and back is longer.
const gapNanos = 200_000

// span is a stretch of time in which a rank ran, by the monotonic clock.
type span struct{ From, To int64 }

// spin is a rank that computes without end, until it gets SIGTERM, and writes
// when it ran to the file named, as it goes.
func spin(args []string) int {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(-1)
	var stop atomic.Bool
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, unix.SIGTERM)
	go func() { <-terminate; stop.Store(true) }()
	file, err := os.Create(args[0])
	if err != nil {
		return 1
	}
	defer file.Close()
	ran := func(from, to int64) bool { return binary.Write(file, binary.LittleEndian, span{from, to}) == nil }

	start, base := time.Now(), realtime.Now()
	first, last := base, base
	for i := 0; !stop.Load(); i++ {
		now := base + int64(time.Since(start))
		if now-last > gapNanos {
			if !ran(first, last) {
				return 1
			}
			first = now
		}
		last = now
		if i%1024 == 0 {
			runtime.Gosched() // lets the signal in
		}
	}
	if !ran(first, last) {
		return 1
	}
	return 0
}

// awaitSpinning waits until a rank spins, and SIGTERM may come.
func awaitSpinning(t testing.TB, path string) {
	t.Helper()
	awaitFile(t, path)
}

// readSpans reads what a spinning rank has written.
func readSpans(t testing.TB, path string) []span {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	spans := make([]span, len(data)/binary.Size(span{}))
	if _, err := binary.Decode(data, binary.LittleEndian, spans); err != nil {
		t.Fatal(err)
	}
	return spans
}

// letTurn has spinning ranks take turns for a while, and on a busy machine, where
// they run in few of their slices, until they have run in enough of them.
func letTurn(while time.Duration, enough func() bool) {
	// The passing of time is what is tested here.
	time.Sleep(while)
	for end := time.Now().Add(timeout); !enough() && time.Now().Before(end); {
		time.Sleep(while / 10)
	}
}

func (s span) length() time.Duration { return time.Duration(s.To - s.From) }
