package pm_test

import (
	"score/channels/abi"
	"testing"
	"time"
)

// TestNap has a rank that only looks sleep until a message comes, a goroutine rouses it, or the time
// is over; the node sees one wait meanwhile.
func TestNap(t *testing.T) {
	chs, hub := join(t, 2, abi.Geometry{})
	img, err := hub.Image(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	never := func() bool { return false }
	chs[0].Nap(time.Millisecond, never)
	how, since := img.Waits()
	if how != abi.WaitTimed {
		t.Fatalf("the node sees %d", how)
	}
	chs[0].Nap(time.Hour, func() bool { return true })
	if again, begun := img.Waits(); again != how || begun != since {
		t.Errorf("another nap is another wait: %d since %d, was %d", again, begun, since)
	}
	roused := make(chan struct{})
	go func() {
		defer close(roused)
		for !img.Sleeping() { //nolint:revive // the sleeper sets it
		}
		chs[0].Rouse()
	}()
	chs[0].Nap(time.Hour, never)
	<-roused
	if err := exchangeOne(chs[1], chs[0], []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := chs[1].SendBytes(0, []byte("y")); err != nil {
		t.Fatal(err)
	}
	chs[0].Nap(time.Hour, never)
	chs[0].Awake()
	if how, _ := img.Waits(); how != abi.WaitNone {
		t.Errorf("awake, and the node sees %d", how)
	}
}
