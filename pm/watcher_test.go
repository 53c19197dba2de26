package pm

import (
	"runtime"
	"testing"
)

// TestWatcherHasAProcessor: a rank on one CPU has one of Go's processors, which it keeps for a
// while when it goes to sleep; its watcher needs another.
func TestWatcherHasAProcessor(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	needProcs()
	if got := runtime.GOMAXPROCS(0); got != watcherProcs {
		t.Errorf("%d processors", got)
	}
	runtime.GOMAXPROCS(watcherProcs + 3)
	needProcs()
	if got := runtime.GOMAXPROCS(0); got != watcherProcs+3 {
		t.Errorf("%d processors of %d are left", got, watcherProcs+3)
	}
}
