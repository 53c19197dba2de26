package uct

import (
	"testing"
	"time"
)

// TestPaceFollowsWhatIsFaster: each way is tried once, then the faster one is used, and the other
// one tried now and then.
func TestPaceFollowsWhatIsFaster(t *testing.T) {
	for name, took := range map[string][2]time.Duration{"stream": {100, 200}, "copy": {200, 100}} {
		var p pace
		copies := 0
		for range 10 * paceRetry {
			way, ns := &p.streamed, took[0]
			if p.copies() {
				way, ns = &p.copied, took[1]
				copies++
			}
			observe(way, 1, ns)
		}
		want := 10
		if name == "copy" {
			want = 10*paceRetry - 11
		}
		if copies < want-1 || copies > want+2 {
			t.Errorf("%s is faster: %d copies, want %d", name, copies, want)
		}
	}
}

// TestPaceOutlastsDisturbance: one pull during which another program had the CPU changes no choice.
func TestPaceOutlastsDisturbance(t *testing.T) {
	p := pace{streamed: 1, copied: 2}
	observe(&p.streamed, 1, 8)
	if p.copies() {
		t.Error("one slow pull was enough")
	}
}
