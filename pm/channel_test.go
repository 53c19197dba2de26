package pm_test

import (
	"bytes"
	"context"
	"errors"
	"score/channels/abi"
	"score/pm"
	"score/pm/local"
	"score/tests/await"
	"slices"
	"sync"
	"testing"
	"time"
)

// take receives the next message, waiting for it.
func take(t *testing.T, ch *pm.Channel) pm.Message {
	t.Helper()
	m, err := receive(ch)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestErrors(t *testing.T) {
	ranks, _ := join(t, 2, abi.Geometry{})
	ch := ranks[0]
	for name, c := range map[string]struct{ got, want error }{
		"rank 2":    {ch.SendBytes(2, nil), pm.ErrRank},
		"rank -1":   {ch.SendBytes(-1, nil), pm.ErrRank},
		"too large": {ch.SendBytes(1, make([]byte, abi.DefaultMaxMessage+1)), pm.ErrTooLarge},
		"no buffer": {ch.Send(), pm.ErrNoBuffer},
		"wait":      {ch.WaitSpace(context.Background(), 1, abi.DefaultMaxMessage+1), pm.ErrTooLarge},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: %v", name, c.got)
		}
	}
	if _, err := ch.Receive(); !errors.Is(err, pm.ErrEmpty) {
		t.Error(err)
	}
	if _, err := ch.GetSendBuffer(1, 1<<20); !errors.Is(err, pm.ErrTooLarge) {
		t.Error(err)
	}
	if err := ch.ReleaseReceiveBuffer(pm.Message{}); !errors.Is(err, pm.ErrNoBuffer) {
		t.Error(err)
	}
	if ch.Rank() != 0 || ch.Size() != 2 || ch.Number() != 1 || ch.MaxMessage() != abi.DefaultMaxMessage || !ch.SameNode(1) || ch.SameNode(2) {
		t.Error("the channel does not know itself")
	}
}

func TestClosed(t *testing.T) {
	ranks, _ := join(t, 2, abi.Geometry{})
	if err := ranks[0].SendBytes(1, []byte("before")); err != nil {
		t.Fatal(err)
	}
	if err := ranks[1].SendBytes(0, []byte("before")); err != nil {
		t.Fatal(err)
	}
	if err := ranks[0].Close(); err != nil {
		t.Fatal(err)
	}
	if err := ranks[1].SendBytes(0, nil); !errors.Is(err, pm.ErrPeerClosed) {
		t.Errorf("to a closed peer: %v", err)
	}
	m := take(t, ranks[1]) // a peer that closed is no death, and what it sent is there
	if b, err := m.Bytes(); err != nil || string(b) != "before" {
		t.Errorf("%q %v", b, err)
	}
	for name, err := range map[string]error{
		"send": ranks[0].SendBytes(1, nil), "close": ranks[0].Close(), "wait": ranks[0].Wait(context.Background()),
		"release": ranks[0].ReleaseReceiveBuffer(m),
	} {
		if !errors.Is(err, pm.ErrClosed) {
			t.Errorf("%s on a closed channel: %v", name, err)
		}
	}
	if _, err := ranks[0].Receive(); !errors.Is(err, pm.ErrClosed) {
		t.Error(err)
	}
}

func TestSeveralChannels(t *testing.T) {
	hub, err := local.NewHub(2, abi.Geometry{})
	if err != nil {
		t.Fatal(err)
	}
	defer hub.Close()
	var ends [2][3]*pm.Channel
	for r := range 2 {
		socket, err := hub.Connect(r)
		if err != nil {
			t.Fatal(err)
		}
		p, err := pm.Join(socket, pm.DefaultSettings())
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		for n := range 3 {
			if ends[r][n], err = p.Open(n + 1); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := p.Open(2); !errors.Is(err, pm.ErrOpen) {
			t.Error(err)
		}
	}
	for ends[0][0].SendBytes(1, make([]byte, 60000)) == nil { // channel 1 is full
	}
	for n := 1; n < 3; n++ {
		if err := ends[0][n].SendBytes(1, []byte{byte(n)}); err != nil {
			t.Fatalf("channel %d is held up by another one: %v", n+1, err)
		}
		m := take(t, ends[1][n])
		if b, _ := m.Bytes(); !bytes.Equal(b, []byte{byte(n)}) {
			t.Errorf("channel %d: %v", n+1, b)
		}
	}
}

// TestSleepAndWake: a waiting rank falls asleep, and a message wakes it.
func TestSleepAndWake(t *testing.T) {
	ranks, hub := join(t, 2, abi.Geometry{})
	img, err := hub.Image(1, 1)
	if err != nil {
		t.Fatal(err)
	}
	const rounds = 20
	var took []time.Duration
	for i := range rounds {
		var waiter sync.WaitGroup
		waiter.Go(func() {
			m := take(t, ranks[1])
			if err := ranks[1].ReleaseReceiveBuffer(m); err != nil {
				t.Error(err)
			}
		})
		await.That(t, "the receiver sleeps", img.Sleeping)
		start := time.Now()
		if err := ranks[0].SendBytes(1, []byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
		waiter.Wait()
		took = append(took, time.Since(start))
	}
	// One that is not woken looks again after a second, every time.
	if shortest := slices.Min(took); shortest > 900*time.Millisecond {
		t.Fatalf("woken after %v: the messages did not wake it", shortest)
	}
	if n := img.Counter(abi.Sleeps); n < rounds {
		t.Errorf("%d sleeps", n)
	}
}

func TestWaitEnds(t *testing.T) {
	ranks, _ := join(t, 2, abi.Geometry{})
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	if err := ranks[0].Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	for ranks[0].SendBytes(1, make([]byte, 60000)) == nil {
	}
	ctx, cancel = context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	if err := ranks[0].WaitSpace(ctx, 1, 60000); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// TestSpaceWakes: a sender that sleeps until there is space is woken by the receiver.
func TestSpaceWakes(t *testing.T) {
	ranks, hub := join(t, 2, abi.Geometry{})
	img, err := hub.Image(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for ; ranks[0].SendBytes(1, make([]byte, 60000)) == nil; n++ {
	}
	var sender sync.WaitGroup
	sender.Go(func() {
		if err := ranks[0].WaitSpace(patient(), 1, 60000); err != nil {
			t.Error(err)
		}
		if err := ranks[0].SendBytes(1, make([]byte, 60000)); err != nil {
			t.Error(err)
		}
	})
	await.That(t, "the receiver sleeps", img.Sleeping)
	for range n + 1 {
		if err := ranks[1].ReleaseReceiveBuffer(take(t, ranks[1])); err != nil {
			t.Fatal(err)
		}
	}
	sender.Wait()
}

// TestSpaceOrMessage: a rank that waits for space is woken by a message too, so that two ranks that
// fill each other's inboxes go on.
func TestSpaceOrMessage(t *testing.T) {
	ranks, _ := join(t, 2, abi.Geometry{})
	for ranks[0].SendBytes(1, make([]byte, 60000)) == nil {
	}
	if err := ranks[1].SendBytes(0, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := ranks[0].WaitSpace(patient(), 1, 60000); err != nil {
		t.Fatal(err)
	}
	if !ranks[0].Poll() {
		t.Error("neither space nor message")
	}
}

func TestPeerGone(t *testing.T) {
	ranks, hub := join(t, 3, abi.Geometry{})
	if err := ranks[2].SendBytes(0, []byte("last words")); err != nil {
		t.Fatal(err)
	}
	hub.Ended(2)
	m := take(t, ranks[0])
	if b, _ := m.Bytes(); string(b) != "last words" {
		t.Errorf("%q", b)
	}
	var gone *pm.PeerGoneError
	if _, err := receive(ranks[0]); !errors.As(err, &gone) || gone.Rank != 2 || !errors.Is(err, pm.ErrPeerGone) {
		t.Fatal(err)
	}
	if err := ranks[0].SendBytes(2, nil); !errors.Is(err, pm.ErrPeerGone) {
		t.Error(err)
	}
	if _, err := ranks[0].Receive(); !errors.Is(err, pm.ErrEmpty) {
		t.Errorf("told twice: %v", err)
	}
	if err := ranks[1].SendBytes(0, []byte("we go on")); err != nil {
		t.Error(err)
	}
	m = take(t, ranks[0])
	if m.Source() != 1 {
		t.Errorf("from %d", m.Source())
	}
}

// A rank sends its last message and dies between the receiver's poll and its check for deaths: the
// message comes first.
func TestLastMessageOfADeadRank(t *testing.T) {
	ranks, hub := join(t, 2, abi.Geometry{})
	if _, err := ranks[0].Receive(); !errors.Is(err, pm.ErrEmpty) {
		t.Fatal(err)
	}
	if err := ranks[1].SendBytes(0, []byte("last words")); err != nil {
		t.Fatal(err)
	}
	hub.Ended(1)
	m, err := ranks[0].ReceiveAfterPoll()
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := m.Bytes(); string(b) != "last words" {
		t.Errorf("%q", b)
	}
	if _, err := receive(ranks[0]); !errors.Is(err, pm.ErrPeerGone) {
		t.Error(err)
	}
}

// TestGoneWakesSleeper: the news of a death wakes a rank that waits.
func TestGoneWakesSleeper(t *testing.T) {
	ranks, hub := join(t, 2, abi.Geometry{})
	img, err := hub.Image(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	var waiter sync.WaitGroup
	waiter.Go(func() {
		if _, err := receive(ranks[0]); !errors.Is(err, pm.ErrPeerGone) {
			t.Error(err)
		}
	})
	await.That(t, "the receiver sleeps", img.Sleeping)
	hub.Ended(1)
	waiter.Wait()
}

// TestReleaseInAnyOrder holds messages back while others are given back.
func TestReleaseInAnyOrder(t *testing.T) {
	ranks, _ := join(t, 2, abi.Geometry{})
	for round := range 50 {
		var held []pm.Message
		for i := range 7 {
			if err := ranks[0].SendBytes(1, bytes.Repeat([]byte{byte(round + i)}, 3000*i)); err != nil {
				t.Fatal(err)
			}
			held = append(held, take(t, ranks[1]))
		}
		for _, i := range []int{3, 6, 0, 1, 5, 2, 4} {
			b, err := held[i].Bytes()
			if err != nil || !bytes.Equal(b, bytes.Repeat([]byte{byte(round + i)}, 3000*i)) {
				t.Fatalf("round %d, message %d: %v", round, i, err)
			}
			if err := ranks[1].ReleaseReceiveBuffer(held[i]); err != nil {
				t.Fatal(err)
			}
		}
		if err := ranks[1].ReleaseReceiveBuffer(held[0]); !errors.Is(err, pm.ErrNoBuffer) {
			t.Fatalf("given back twice: %v", err)
		}
	}
}

// TestSwitches exchanges long messages with every setting of the two switches.
func TestSwitches(t *testing.T) {
	for _, s := range []pm.Settings{{Immediate: true, Overlap: true}, {Immediate: true}, {Overlap: true}, {}} {
		ranks, _ := joinWith(t, 2, abi.Geometry{}, s)
		var sender sync.WaitGroup
		sender.Go(func() {
			for i := range 200 {
				data := bytes.Repeat([]byte{byte(i)}, 65536-i)
				for errors.Is(ranks[0].SendBytes(1, data), pm.ErrFull) {
					if err := ranks[0].WaitSpace(patient(), 1, len(data)); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
		got := make([]byte, 65536)
		for i := range 200 {
			m := take(t, ranks[1])
			if !s.Overlap && m.Available() != m.Len() {
				t.Fatal("half a message without overlap")
			}
			n, err := m.CopyTo(got)
			if err != nil || !bytes.Equal(got[:n], bytes.Repeat([]byte{byte(i)}, 65536-i)) {
				t.Fatalf("message %d: %d bytes, %v", i, n, err)
			}
			if err := ranks[1].ReleaseReceiveBuffer(m); err != nil {
				t.Fatal(err)
			}
		}
		sender.Wait()
	}
}
