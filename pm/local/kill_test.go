package local_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"score/pm"
	"score/pm/local"
	"score/pm/local/localtest"
	"score/tests/processes"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// victim sends to all and receives, until another rank dies, which must become known; or until
// it is killed itself.
func victim() error {
	ch, err := pm.Open(1)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out := localtest.NewTraffic(ch.Rank(), 0)
	next := out.Next()
	for to := 0; ; to = (to + 1) % ch.Size() {
		if to == ch.Rank() {
			continue
		}
		switch err := ch.SendBytes(to, next); {
		case err == nil:
			next = out.Next()
		case !errors.Is(err, pm.ErrFull):
			return known(err)
		}
		m, err := ch.Receive()
		switch {
		case errors.Is(err, pm.ErrEmpty):
			if err := ch.WaitSpace(ctx, to, 0); err != nil {
				return known(err)
			}
			continue
		case err != nil:
			return known(err)
		}
		if _, err := m.Bytes(); err != nil {
			return known(err)
		}
		if err := ch.ReleaseReceiveBuffer(m); err != nil {
			return err
		}
	}
}

// known makes the news of another's end a success.
func known(err error) error {
	if errors.Is(err, pm.ErrPeerGone) || errors.Is(err, pm.ErrPeerClosed) {
		return nil
	}
	return err
}

// TestKill kills a rank at random points of the traffic, again and again: all others learn it,
// on its node and on the other, and nothing is left of any of it.
func TestKill(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	round := func(i int) {
		g := startOn(t, 2, 4, "victim")
		defer g.Close()
		dead := i % 4
		localtest.AwaitTraffic(t, g, dead)
		time.Sleep(time.Duration(random.IntN(5000)) * time.Microsecond)
		if err := g.Kill(dead); err != nil {
			t.Fatal(err)
		}
		if err := g.Wait(); err == nil || err.Error() != fmt.Sprintf("rank %d: signal: killed", dead) {
			t.Fatalf("round %d: %v", i, err)
		}
	}
	round(0) // whatever the runtime opens once, it opens here
	files, routines, memory := processes.Descriptors(), runtime.NumGoroutine(), mappings(t)
	rounds := 12
	if testing.Short() {
		rounds = 4
	}
	for i := range rounds {
		round(i)
	}
	for end := time.Now().Add(patience); runtime.NumGoroutine() > routines && time.Now().Before(end); {
		time.Sleep(time.Millisecond) // threads of processes that were waited for
	}
	if f, r, m := processes.Descriptors(), runtime.NumGoroutine(), mappings(t); f > files || r > routines || m > memory {
		t.Errorf("%d descriptors, %d goroutines, %d mapped contexts; before it was %d, %d, %d", f, r, m, files, routines, memory)
	}
}

// starter starts ranks that stay, and is killed.
func starter() error {
	_, err := local.Start(local.Config{Ranks: 2, Command: func(int) *exec.Cmd { return localtest.Self(roleEnv + "=stay") }})
	if err != nil {
		return err
	}
	return unix.Kill(os.Getpid(), unix.SIGKILL)
}

// TestRanksEndWithTheirStarter: ranks end with a process that cannot end them by itself.
func TestRanksEndWithTheirStarter(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	command := localtest.Self(roleEnv + "=starter")
	command.Stdout = write // all have it
	if err := command.Run(); err == nil || err.Error() != "signal: killed" {
		t.Error(err)
	}
	write.Close()
	if err := read.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := read.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Error("ranks go on:", err)
	}
}

// mappings counts the contexts that this process has mapped.
func mappings(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(text), "score-ctx-")
}
