package local_test

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"score/channels/link"
	"score/pm"
	"score/pm/local"
	"score/pm/local/localtest"
	"strconv"
	"testing"
	"time"
)

const countEnv = "LOCAL_TEST_COUNT"

// patience ends a test that hangs.
const patience = 2 * time.Minute

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// exchange sends messages to every other rank, receives as many from each, and compares checksums.
// Then one more each way: a rank that has it from all knows that all have its own.
func exchange() error {
	n, err := strconv.Atoi(os.Getenv(countEnv))
	if err != nil {
		return err
	}
	ch, err := pm.Open(1)
	if err != nil {
		return err
	}
	defer ch.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	x := &exchanger{ch: ch, ctx: ctx, out: make([]*localtest.Traffic, ch.Size()), in: make([]*localtest.Traffic, ch.Size())}
	for r := range ch.Size() {
		x.out[r], x.in[r] = localtest.NewTraffic(ch.Rank(), r), localtest.NewTraffic(r, ch.Rank())
	}
	if err := x.round(n); err != nil {
		return err
	}
	return x.round(1)
}

type exchanger struct {
	ch      *pm.Channel
	ctx     context.Context
	out, in []*localtest.Traffic
	want    int // messages to have received by the end of the round
	got     int
}

// round sends n messages to each of the others, and goes on when n more came from each.
func (x *exchanger) round(n int) error {
	x.want += n * (x.ch.Size() - 1)
	for i := range n {
		for to := range x.ch.Size() {
			if to == x.ch.Rank() {
				continue
			}
			if err := x.send(to, x.out[to].Next()); err != nil {
				return fmt.Errorf("message %d to rank %d: %w", i, to, err)
			}
		}
	}
	for x.got < x.want {
		if err := x.take(func() error { return x.ch.Wait(x.ctx) }); err != nil {
			return fmt.Errorf("message %d of %d: %w", x.got, x.want, err)
		}
	}
	return nil
}

func (x *exchanger) send(to int, data []byte) error {
	for {
		err := x.ch.SendBytes(to, data)
		if !errors.Is(err, pm.ErrFull) {
			return err
		}
		if err := x.take(func() error { return x.ch.WaitSpace(x.ctx, to, len(data)) }); err != nil {
			return err
		}
	}
}

// take receives a message and compares it; if there is none it waits.
func (x *exchanger) take(wait func() error) error {
	m, err := x.ch.Receive()
	if errors.Is(err, pm.ErrEmpty) {
		return wait()
	}
	if err != nil {
		return err
	}
	data, err := m.Bytes()
	if err != nil {
		return err
	}
	want := x.in[m.Source()].Next()
	if len(data) != len(want) || crc32.Checksum(data, castagnoli) != crc32.Checksum(want, castagnoli) {
		return fmt.Errorf("a message of %d bytes from rank %d is not that of %d bytes that was sent", len(data), m.Source(), len(want))
	}
	x.got++
	return x.ch.ReleaseReceiveBuffer(m)
}

// startOn starts ranks on several nodes.
func startOn(t *testing.T, nodes, ranks int, role string, env ...string) *local.Group {
	t.Helper()
	return localtest.Ranks(t, local.Config{Nodes: nodes, Ranks: ranks, Command: func(int) *exec.Cmd {
		return localtest.Self(append(env, roleEnv+"="+role)...)
	}})
}

// TestExchangeBetweenNodes: what is sent arrives, in order, on bad networks as well.
func TestExchangeBetweenNodes(t *testing.T) {
	for _, c := range []struct {
		name, faults string
		nodes, ranks int
		count        int
	}{
		{"perfect", "", 2, 2, 50_000},
		{"lossy", "loss=0.02,dup=0.02,reorder=0.05,corrupt=0.01,seed=7", 2, 2, 50_000},
		{"mixed", "loss=0.01,dup=0.01", 3, 6, 500},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() {
				c.count /= 10
			}
			t.Setenv(link.FaultsVariable, c.faults)
			g := startOn(t, c.nodes, c.ranks, "exchange", countEnv+"="+strconv.Itoa(c.count))
			start := time.Now()
			if err := g.Wait(); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d messages each way in %v", c.count, time.Since(start))
		})
	}
}

// leave has rank 0 send messages of several frames, and leave without waiting for anything; rank 1
// receives them all.
func leave() error {
	ch, err := pm.Open(1)
	if err != nil {
		return err
	}
	defer ch.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	x := &exchanger{ch: ch, ctx: ctx, in: []*localtest.Traffic{localtest.NewTraffic(0, 1), nil}}
	out := localtest.NewTraffic(0, 1)
	for range leaving {
		if ch.Rank() == 0 {
			err = x.send(1, out.Next())
		} else {
			err = x.take(func() error { return ch.Wait(ctx) })
		}
		if err != nil {
			return err
		}
	}
	for ch.Rank() == 1 && x.got < leaving {
		if err := x.take(func() error { return ch.Wait(ctx) }); err != nil {
			return err
		}
	}
	return nil
}

const leaving = 2000

// TestLeave: the agent sends what a rank that left had not got rid of.
func TestLeave(t *testing.T) {
	t.Setenv(link.FaultsVariable, "loss=0.05,seed=3")
	for range 3 {
		g := startOn(t, 2, 2, "leave")
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
	}
}
