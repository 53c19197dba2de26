package pm_test

import (
	"score/channels/abi"
	"score/channels/link"
	"score/pm"
	"testing"
	"time"
)

// TestNap has a rank that only looks sleep until a message comes, a goroutine rouses it, or the
// time is over; the node sees one wait meanwhile.
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

// TestNapsKeepTheWatcher: what ends a nap inside the node leaves the thread that waits for
// datagrams where it is, since to stop it and to begin again takes six switches between threads;
// and that thread still wakes the rank.
func TestNapsKeepTheWatcher(t *testing.T) {
	chs, _ := joinNodes(t, 2, 2, pm.DefaultSettings())
	ctx := within(t)
	never := func() bool { return false }
	napWatched(t, chs[0], 100*time.Microsecond, false)
	if err := exchangeOne(chs[1], chs[0], []byte("near")); err != nil {
		t.Fatal(err)
	}
	napWatched(t, chs[0], 100*time.Microsecond, false)
	for range 3 {
		if err := sendFar(ctx, chs[2], 0, []byte("far")); err != nil {
			t.Fatal(err)
		}
		chs[0].Nap(time.Hour, never)
		if _, data, err := nextFrom(ctx, chs[0]); err != nil || string(data) != "far" {
			t.Fatalf("%q, %v", data, err)
		}
	}
}

// TestNapsWatchBulk: the thread waits for bulk datagrams while the rank expects some; that it waits
// for none any more may come late in short naps.
func TestNapsWatchBulk(t *testing.T) {
	transport, err := link.TransportFromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	if transport != link.UDP {
		t.Skipf("%v has no bulk datagrams", transport)
	}
	chs, _ := joinNodes(t, 2, 1, pm.DefaultSettings())
	bulk := chs[0].OpenBulk()
	if bulk == nil {
		t.Fatal("no socket for bulk datagrams")
	}
	const short, long = 100 * time.Microsecond, 2 * time.Millisecond
	napWatched(t, chs[0], short, false)
	bulk.Expect(true)
	napWatched(t, chs[0], short, true)
	bulk.Expect(false)
	napWatched(t, chs[0], short, true)
	napWatched(t, chs[0], long, false)
}

// napWatched lets a rank nap, and tests what its watcher waits for then.
func napWatched(t *testing.T, ch *pm.Channel, timeout time.Duration, wantBulk bool) {
	t.Helper()
	ch.Nap(timeout, func() bool { return false })
	if armed, bulk := ch.Watched(); !armed || bulk != wantBulk {
		t.Errorf("after a nap of %v: watched %v, for bulk datagrams %v, want those %v", timeout, armed, bulk, wantBulk)
	}
}
