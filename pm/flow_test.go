package pm_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"score/channels/abi"
	"score/pm"
	"score/pm/local"
	"sync"
	"testing"
	"time"
)

// withCredits are settings for channels with credits.
func withCredits() pm.Settings {
	s := pm.DefaultSettings()
	s.Flow = pm.FlowCredits
	return s
}

// joinAs joins a rank of a hub.
func joinAs(t *testing.T, hub *local.Hub, rank int, settings pm.Settings) *pm.Process {
	t.Helper()
	socket, err := hub.Connect(rank)
	if err != nil {
		t.Fatal(err)
	}
	p, err := pm.Join(socket, settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() }) // before the hub
	return p
}

func newCluster(t *testing.T, nodes, perNode int, g abi.Geometry) *local.Hub {
	t.Helper()
	hub, err := local.NewCluster(nodes, perNode, g)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hub.Close(); err != nil {
			t.Error(err)
		}
	})
	return hub
}

// TestIncast: eight ranks on nodes of their own send to a ninth at once, under both flow controls.
func TestIncast(t *testing.T) {
	for _, flow := range []pm.Flow{pm.FlowNack, pm.FlowCredits} {
		t.Run(flow.String(), func(t *testing.T) { incast(t, flow) })
	}
}

func incast(t *testing.T, flow pm.Flow) {
	const senders, messages = 8, 1000 // few: the ranks poll, and share two CPUs at worst
	settings := pm.DefaultSettings()
	settings.Flow = flow
	ranks, hub := joinNodes(t, senders+1, 1, settings)
	ctx, start := within(t), time.Now()
	var sending sync.WaitGroup
	for _, ch := range ranks[1:] {
		sending.Go(func() {
			for i := range messages {
				data := fmt.Appendf(nil, "%d #%d", ch.Rank(), i)
				err := ch.SendBytes(0, data)
				for ; errors.Is(err, pm.ErrFull); err = ch.SendBytes(0, data) {
					if err := ch.WaitSpace(ctx, 0, len(data)); err != nil {
						t.Errorf("rank %d, message %d: %v", ch.Rank(), i, err)
						return
					}
				}
				if err != nil {
					t.Errorf("rank %d, message %d: %v", ch.Rank(), i, err)
					return
				}
			}
		})
	}
	next := make([]int, senders+1)
	for range senders * messages {
		from, data, err := nextFrom(ctx, ranks[0])
		if err != nil {
			t.Error(err)
			break
		}
		if want := fmt.Appendf(nil, "%d #%d", from, next[from]); !bytes.Equal(data, want) {
			t.Errorf("%q, want %q", data, want)
		}
		next[from]++
	}
	sending.Wait()
	img, err := hub.Image(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	granted := img.Counter(abi.CreditsGranted)
	t.Logf("%.2f M messages a second, %d frames refused, %d credits granted",
		senders*messages/time.Since(start).Seconds()/1e6, img.Counter(abi.Nacked), granted)
	if flow == pm.FlowCredits && granted < senders*messages/2 || flow == pm.FlowNack && granted != 0 {
		t.Errorf("%d credits were granted for %d messages", granted, senders*messages)
	}
}

// TestFlowPerChannel: a program chooses for each channel; one with credits takes short messages.
func TestFlowPerChannel(t *testing.T) {
	hub := newCluster(t, 2, 1, abi.Geometry{})
	zero, one := joinAs(t, hub, 0, pm.DefaultSettings()), joinAs(t, hub, 1, withCredits())
	open := func(p *pm.Process, channel int, options ...pm.OpenOption) *pm.Channel {
		ch, err := p.Open(channel, options...)
		if err != nil {
			t.Fatal(err)
		}
		return ch
	}
	short, long := open(zero, 1, pm.WithFlow(pm.FlowCredits)), open(zero, 2)
	shortTo, longTo := open(one, 1), open(one, 2, pm.WithFlow(pm.FlowNack))
	if short.MaxMessage() != abi.MaxCreditMessage || long.MaxMessage() != abi.DefaultMaxMessage || short.Flow() != pm.FlowCredits {
		t.Errorf("longest messages of %d and %d bytes", short.MaxMessage(), long.MaxMessage())
	}
	err := short.SendBytes(1, make([]byte, abi.MaxCreditMessage+1))
	if want := "pm: message too long: a channel with credits takes messages of up to 1008 bytes"; !errors.Is(err, pm.ErrTooLarge) || err.Error() != want {
		t.Errorf("too long: %v", err)
	}
	for _, c := range []struct {
		from, to *pm.Channel
	}{{short, shortTo}, {long, longTo}} {
		data := bytes.Repeat([]byte("x"), c.from.MaxMessage())
		if err := sendFar(within(t), c.from, 1, data); err != nil {
			t.Fatal(err)
		}
		if _, got, err := nextFrom(within(t), c.to); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes came of %d, %v", len(got), len(data), err)
		}
	}
}

// TestFlowsDiffer: a rank with another flow control than the others gets the error, and so do they,
// whichever sends first and on whatever node.
func TestFlowsDiffer(t *testing.T) {
	const want = "pm: channel 1 of rank %d uses %s, this one %s: set PM_FLOW alike in all ranks"
	settings := []pm.Settings{pm.DefaultSettings(), withCredits()}
	names := []string{"ACK/NACK", "credits"}
	for _, odd := range []int{0, 1} { // which of the two has credits
		t.Run(fmt.Sprintf("rank %d has credits", odd), func(t *testing.T) {
			hub := newCluster(t, 2, 1, abi.Geometry{})
			ctx := within(t)
			var ends [2]*pm.Channel
			for rank := range ends {
				ch, err := joinAs(t, hub, rank, settings[(rank+odd+1)%2]).Open(1)
				if err != nil {
					t.Fatal(err)
				}
				ends[rank] = ch
			}
			if err := sendFar(ctx, ends[0], 1, []byte("x")); err != nil {
				t.Fatal(err)
			}
			errs := waitBoth(ctx, ends)
			for rank, err := range errs {
				mine := (rank + odd + 1) % 2
				if text := fmt.Sprintf(want, 1-rank, names[1-mine], names[mine]); !errors.Is(err, pm.ErrFlow) || err.Error() != text {
					t.Errorf("rank %d receives %v, want %s", rank, err, text)
				}
				if err := sendFar(ctx, ends[rank], 1-rank, []byte("y")); !errors.Is(err, pm.ErrFlow) {
					t.Errorf("rank %d sends: %v", rank, err)
				}
			}
		})
	}
}

// waitBoth waits at both ends at once, and returns what Receive says.
func waitBoth(ctx context.Context, ends [2]*pm.Channel) (errs [2]error) {
	var both sync.WaitGroup
	for rank, ch := range ends {
		both.Go(func() { _, _, errs[rank] = nextFrom(ctx, ch) })
	}
	both.Wait()
	return errs
}

// TestAskedBefore: the context of a rank that has not opened its channel is made for whoever asks
// for it; then that rank cannot open it otherwise.
func TestAskedBefore(t *testing.T) {
	for name, perNode := range map[string]int{"on this node": 2, "on another node": 1} {
		t.Run(name, func(t *testing.T) {
			hub := newCluster(t, 2, perNode, abi.Geometry{})
			first, err := joinAs(t, hub, 0, withCredits()).Open(1)
			if err != nil {
				t.Fatal(err)
			}
			if err := sendFar(within(t), first, 1, []byte("x")); err != nil {
				t.Fatal(err)
			}
			late := joinAs(t, hub, 1, pm.DefaultSettings())
			late2 := joinAs(t, hub, 1, withCredits())
			for first.Poll(); contexts(hub, 1) == 0; {
				first.Poll() // asks
			}
			_, err = late.Open(1)
			const want = "pm: channel 1: another rank uses credits, this one ACK/NACK: set PM_FLOW alike in all ranks"
			if !errors.Is(err, pm.ErrFlow) || err.Error() != want {
				t.Fatalf("%v, want %s", err, want)
			}
			ch, err := late2.Open(1)
			if err != nil {
				t.Fatal(err)
			}
			var data []byte
			for data == nil && err == nil { // both must poll
				if first.Poll(); ch.Poll() {
					_, data, err = nextFrom(within(t), ch)
				}
			}
			if err != nil || string(data) != "x" {
				t.Errorf("%q, %v", data, err)
			}
		})
	}
}

// contexts returns how many contexts a rank has.
func contexts(hub *local.Hub, rank int) (n int) {
	for _, c := range hub.Job(rank).Contexts() {
		if int(c.Rank) == rank {
			n++
		}
	}
	return n
}

// TestTooFewPlaces: a lane that cannot hold a message of each rank says so at once.
func TestTooFewPlaces(t *testing.T) {
	hub := newCluster(t, 5, 1, abi.Geometry{LaneBytes: 4096, SharedBytes: 4096, MaxMessage: 1000}) // 3 places for 4 ranks
	p := joinAs(t, hub, 0, withCredits())
	if _, err := p.Open(1); !errors.Is(err, pm.ErrPlaces) {
		t.Errorf("%v, want %v", err, pm.ErrPlaces)
	}
	if _, err := p.Open(1, pm.WithFlow(pm.FlowNack)); err != nil {
		t.Error(err)
	}
}
