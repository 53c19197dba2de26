package pm_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"score/channels/link"
	"score/pm"
	"score/pm/local"
	"score/pm/local/localtest"
	"sync"
	"testing"
)

// joinNodes makes ranks on several nodes that all live in this process.
func joinNodes(t testing.TB, nodes, perNode int, settings pm.Settings) ([]*pm.Channel, *local.Hub) {
	t.Helper()
	job := localtest.Start(t, nodes, perNode, settings)
	return job.Channels, job.Hub
}

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// sendFar sends, and waits for space; what comes meanwhile is left to the receiver.
func sendFar(ctx context.Context, c *pm.Channel, to int, data []byte) error {
	for {
		err := c.SendBytes(to, data)
		if !errors.Is(err, pm.ErrFull) {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// nextFrom waits for the next message and copies it.
func nextFrom(ctx context.Context, c *pm.Channel) (int, []byte, error) {
	if err := c.Wait(ctx); err != nil {
		return 0, nil, err
	}
	m, err := c.Receive()
	if err != nil {
		return 0, nil, err
	}
	data, err := m.Bytes()
	if err != nil {
		return 0, nil, err
	}
	return m.Source(), bytes.Clone(data), c.ReleaseReceiveBuffer(m)
}

// TestBetweenNodes: every rank sends to every other, on its node and on the other one.
func TestBetweenNodes(t *testing.T) {
	for name, faults := range map[string]string{"good network": "", "bad network": "loss=0.05,dup=0.05,reorder=0.1,corrupt=0.02,seed=3"} {
		t.Run(name, func(t *testing.T) {
			settings := pm.DefaultSettings()
			var err error
			if settings.Faults, err = link.ParseFaults(faults); err != nil {
				t.Fatal(err)
			}
			ranks, _ := joinNodes(t, 2, 2, settings)
			allToAll(t, ranks, 200)
		})
	}
}

func allToAll(t *testing.T, ranks []*pm.Channel, count int) {
	ctx := within(t)
	var wg sync.WaitGroup
	for _, c := range ranks {
		wg.Go(func() {
			if err := talk(ctx, c, count); err != nil {
				t.Errorf("rank %d: %v", c.Rank(), err)
			}
		})
	}
	wg.Wait()
}

// talk sends to all others and checks what they send.
func talk(ctx context.Context, c *pm.Channel, count int) error {
	got := make([]int, c.Size())
	take := func(m pm.Message) error {
		data, err := m.Bytes()
		if err != nil {
			return err
		}
		from := m.Source()
		if want := content(from, c.Rank(), got[from]); !bytes.Equal(data, want) {
			return fmt.Errorf("message %d of rank %d: %.20q, want %.20q", got[from], from, data, want)
		}
		got[from]++
		return c.ReleaseReceiveBuffer(m)
	}
	left := (c.Size() - 1) * count
	for i := range count {
		for to := range c.Size() {
			if to == c.Rank() {
				continue
			}
			data := content(c.Rank(), to, i)
			for {
				err := c.SendBytes(to, data)
				if err == nil {
					break
				}
				if !errors.Is(err, pm.ErrFull) {
					return err
				}
				if err := c.WaitSpace(ctx, to, len(data)); err != nil {
					return err
				}
				if m, err := c.Receive(); err == nil {
					if err := take(m); err != nil {
						return err
					}
					left--
				}
			}
		}
	}
	for ; left > 0; left-- {
		if err := c.Wait(ctx); err != nil {
			return fmt.Errorf("%d messages missing: %w", left, err)
		}
		m, err := c.Receive()
		if err != nil {
			return err
		}
		if err := take(m); err != nil {
			return err
		}
	}
	return nil
}

func content(from, to, index int) []byte {
	random := rand.New(rand.NewPCG(uint64(from<<16|to), uint64(index)))
	length := random.IntN(100)
	if random.IntN(8) == 0 {
		length = random.IntN(65537)
	}
	data := fmt.Appendf(nil, "%d>%d #%d ", from, to, index)
	if length <= len(data) {
		return data
	}
	return append(data, noise[index%100:][:length-len(data)]...)
}

// noise is what messages are filled with.
var noise = func() []byte {
	b := make([]byte, 1<<16+100)
	rand.NewChaCha8([32]byte{}).Read(b)
	return b
}()

// TestSleeperIsWokenFromAfar: a rank that sleeps in Wait is woken by a message of
// another node, and costs no CPU meanwhile.
func TestSleeperIsWokenFromAfar(t *testing.T) {
	ranks, hub := joinNodes(t, 2, 1, pm.Settings{Immediate: true, Overlap: true})
	img, err := hub.Image(1, 1)
	if err != nil {
		t.Fatal(err)
	}
	ctx := within(t)
	var sending sync.WaitGroup
	defer sending.Wait()
	sending.Go(func() {
		for i := range 20 {
			for !img.Sleeping() && ctx.Err() == nil {
				runtime.Gosched()
			}
			if err := sendFar(ctx, ranks[0], 1, []byte{byte(i)}); err != nil {
				t.Error(err)
			}
		}
	})
	for i := range 20 {
		from, data, err := nextFrom(ctx, ranks[1])
		if err != nil || from != 0 || !bytes.Equal(data, []byte{byte(i)}) {
			t.Fatalf("message %d: %v from %d, %v", i, data, from, err)
		}
	}
}

// TestComputingRankAcknowledges: messages to a rank that never polls are taken by its node,
// so that the sender's buffer becomes free.
func TestComputingRankAcknowledges(t *testing.T) {
	ranks, hub := joinNodes(t, 2, 1, pm.DefaultSettings())
	ctx := within(t)
	for i := range 100 {
		if err := sendFar(ctx, ranks[0], 1, content(0, 1, i)[:8]); err != nil {
			t.Fatal(err)
		}
	}
	for unacknowledged(t, hub) > 0 {
		if err := ctx.Err(); err != nil {
			t.Fatal(err)
		}
		ranks[0].Poll()
	}
	for i := range 100 {
		_, data, err := nextFrom(ctx, ranks[1])
		if err != nil || !bytes.Equal(data, content(0, 1, i)[:8]) {
			t.Fatalf("message %d: %.20q, %v", i, data, err)
		}
	}
}

// unacknowledged returns how many frames of rank 0 wait for an answer of rank 1.
func unacknowledged(t *testing.T, hub *local.Hub) uint32 {
	t.Helper()
	peers, err := hub.Job(0).Peers(1, 0)
	if err != nil || len(peers) != 1 {
		t.Fatalf("%v, %v", peers, err)
	}
	return uint32(peers[0].Sender.Queued - peers[0].Sender.Acked)
}

// TestEndsAreReported: a rank that sends to one of another node that closed, or died, gets the
// error of that.
func TestEndsAreReported(t *testing.T) {
	ranks, hub := joinNodes(t, 3, 1, pm.DefaultSettings())
	ctx := within(t)
	for to := 1; to <= 2; to++ {
		if err := sendFar(ctx, ranks[0], to, []byte("before")); err != nil {
			t.Fatal(err)
		}
		if _, _, err := nextFrom(ctx, ranks[to]); err != nil {
			t.Fatal(err)
		}
	}
	if err := ranks[1].Close(); err != nil {
		t.Fatal(err)
	}
	hub.Ended(2)
	for to, want := range map[int]error{1: pm.ErrPeerClosed, 2: pm.ErrPeerGone} {
		err := error(nil)
		for err == nil || errors.Is(err, pm.ErrFull) {
			if ctx.Err() != nil {
				t.Fatalf("nobody tells of rank %d", to)
			}
			err = ranks[0].SendBytes(to, []byte("after"))
			ranks[0].Poll()
		}
		if !errors.Is(err, want) {
			t.Errorf("rank %d: %v", to, err)
		}
	}
	// The death is news for Receive, too; the close is not.
	if err := ranks[0].Wait(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := ranks[0].Receive(); !errors.Is(err, pm.ErrPeerGone) {
		t.Errorf("Receive: %v", err)
	}
	if _, err := ranks[0].Receive(); !errors.Is(err, pm.ErrEmpty) {
		t.Errorf("Receive: %v", err)
	}
}

// TestCloseLeavesNothingBehind: what a rank sent before it closed still arrives.
func TestCloseLeavesNothingBehind(t *testing.T) {
	ranks, _ := joinNodes(t, 2, 1, pm.DefaultSettings())
	ctx := within(t)
	for i := range 300 {
		if err := sendFar(ctx, ranks[0], 1, content(0, 1, i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := ranks[0].Close(); err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		_, data, err := nextFrom(ctx, ranks[1])
		if err != nil || !bytes.Equal(data, content(0, 1, i)) {
			t.Fatalf("message %d: %.20q, %v", i, data, err)
		}
	}
}
