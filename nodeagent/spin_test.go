package nodeagent_test

import (
	"encoding/binary"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"score/nodeagent/realtime"
)

// gapNanos is how long a spinning rank must not have run for it to count as
// stopped: interrupts are shorter, a switch and back is longer.
const gapNanos = 200_000

// span is a stretch of time in which a rank ran, by the monotonic clock.
type span struct{ From, To int64 }

// spin is a rank that computes without end, and writes when it ran to the file
// named when it gets SIGTERM.
func spin(args []string) int {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(-1)
	var stop atomic.Bool
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, unix.SIGTERM)
	go func() { <-terminate; stop.Store(true) }()
	if os.WriteFile(args[0]+spinning, nil, 0o644) != nil {
		return 1
	}

	spans := make([]span, 0, 1<<16)
	start, base := time.Now(), realtime.Now()
	first, last := base, base
	for i := 0; ; i++ {
		now := base + int64(time.Since(start))
		if now-last > gapNanos && len(spans) < cap(spans) {
			spans = append(spans, span{first, last})
			first = now
		}
		last = now
		if i%1024 == 0 {
			runtime.Gosched() // lets the signal in
		}
		if stop.Load() {
			break
		}
	}
	spans = append(spans, span{first, last})
	file, err := os.Create(args[0])
	if err != nil {
		return 1
	}
	defer file.Close()
	if binary.Write(file, binary.LittleEndian, spans) != nil {
		return 1
	}
	return 0
}

// spinning ends the name of the file that a spinning rank makes once SIGTERM may come.
const spinning = ".spins"

// awaitSpinning waits until a rank spins.
func awaitSpinning(t testing.TB, path string) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(path + spinning); err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the rank does not begin to spin")
		}
	}
}

// readSpans reads what a spinning rank wrote.
func readSpans(t testing.TB, path string) []span {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	spans := make([]span, info.Size()/16)
	if err := binary.Read(file, binary.LittleEndian, spans); err != nil {
		t.Fatal(err)
	}
	return spans
}

func (s span) length() time.Duration { return time.Duration(s.To - s.From) }
