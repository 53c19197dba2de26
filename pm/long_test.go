package pm_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"score/channels/link"
	"score/pm"
	"score/pm/local"
	"score/pm/local/localtest"
	"strconv"
	"testing"
	"time"
)

// all is how many messages the long tests exchange on each path, both ways together.
var all = flag.Int("pm.messages", 2*messages, "messages of each long test")

// badNetwork is worse than any that people put up with.
const badNetwork = "loss=0.02,dup=0.01,reorder=0.02,corrupt=0.01"

// messagesPerKill is after how many of those messages an end is killed in the other test.
const messagesPerKill = 50_000

// paths are the ways that long tests go.
var paths = []struct {
	name, faults string
	nodes        int
}{
	{"shm", "", 1},
	{"udp", "", 2},
	{"udp bad", badNetwork, 2},
}

// startFar starts two ranks that play a role, on the given number of nodes, with the faults between
// them.
func startFar(t *testing.T, nodes int, faults, role string, env ...string) *local.Group {
	t.Helper()
	t.Setenv(link.FaultsVariable, faults) // for the agents, which are in this process, and for the ranks
	return localtest.Ranks(t, local.Config{Ranks: 2, Nodes: nodes, Command: func(int) *exec.Cmd {
		return localtest.Self(append(env, roleEnv+"="+role)...)
	}})
}

// TestManyMessagesOnEveryPath exchanges messages of random length and content both ways at once
// and compares checksums: everything arrives once, in order, unchanged.
func TestManyMessagesOnEveryPath(t *testing.T) {
	for _, p := range paths {
		t.Run(p.name, func(t *testing.T) {
			g := startFar(t, p.nodes, p.faults, "exchange", "PM_TEST_N="+strconv.Itoa(*all/2))
			if err := g.Wait(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func init() {
	roles["checked victim"] = checkedVictim
}

// checkedVictim exchanges messages as exchange does, without an end, until its peer dies.
func checkedVictim(ch *pm.Channel) error {
	other := 1 - ch.Rank()
	out, in := localtest.NewTraffic(ch.Rank(), other), localtest.NewTraffic(other, ch.Rank())
	var next []byte
	for i, got := 0, 0; ; {
		if next == nil {
			next = out.Next()
		}
		switch err := post(ch, other, next, i); {
		case err == nil:
			i, next = i+1, nil
		case errors.Is(err, pm.ErrPeerGone):
			return nil
		case !errors.Is(err, pm.ErrFull):
			return err
		}
		m, err := ch.Receive()
		switch {
		case errors.Is(err, pm.ErrEmpty) && next == nil:
			continue
		case errors.Is(err, pm.ErrEmpty):
			if err := ch.WaitSpace(patient(), other, len(next)); err != nil && !errors.Is(err, pm.ErrPeerGone) {
				return err
			}
			continue
		case errors.Is(err, pm.ErrPeerGone):
			return nil
		case err != nil:
			return err
		}
		data, err := m.Bytes()
		if errors.Is(err, pm.ErrPeerGone) {
			return nil // it died while it wrote this one
		}
		if err != nil {
			return err
		}
		if want := in.Next(); m.Source() != other || !bytes.Equal(data, want) {
			return fmt.Errorf("message %d from rank %d has %d bytes, want %d, or others", got, m.Source(), len(data), len(want))
		}
		if err := ch.ReleaseReceiveBuffer(m); err != nil {
			return err
		}
		got++
	}
}

// TestKillEitherEndOnEveryPath kills a rank at random points of the traffic, again and again: the
// other one learns it and ends by itself, and what it was sent before was right.
func TestKillEitherEndOnEveryPath(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for _, p := range paths {
		rounds := max(*all/messagesPerKill, 4)
		for i := range rounds {
			t.Run(fmt.Sprintf("%s/%d", p.name, i), func(t *testing.T) {
				g := startFar(t, p.nodes, p.faults, "checked victim")
				killOne(t, g, i%2, time.Duration(random.IntN(20_000))*time.Microsecond)
			})
		}
	}
}

// killOne kills a rank that long after there was traffic both ways.
func killOne(t *testing.T, g *local.Group, rank int, after time.Duration) {
	t.Helper()
	for r := range 2 {
		localtest.AwaitTraffic(t, g, r)
	}
	time.Sleep(after) // the random point
	if err := g.Kill(rank); err != nil {
		t.Fatal(err, g.Wait()) // it has ended by itself: this says why
	}
	ended := make(chan error, 1)
	go func() { ended <- g.Wait() }()
	select {
	case err := <-ended:
		if err == nil || err.Error() != fmt.Sprintf("rank %d: signal: killed", rank) {
			t.Fatal(err)
		}
	case <-time.After(patience):
		_ = g.Kill(1 - rank) // it may end just now
		t.Fatalf("the other rank goes on: %v", <-ended)
	}
}
