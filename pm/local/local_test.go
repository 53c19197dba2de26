package local_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"score/channels/abi"
	"score/pm"
	"score/pm/local"
	"score/tests/processes"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const roleEnv = "LOCAL_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleEnv) {
	case "":
		os.Exit(m.Run())
	case "hello":
		if err := hello(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "exchange", "victim", "leave", "starter":
		play := map[string]func() error{"exchange": exchange, "victim": victim, "leave": leave, "starter": starter}
		if err := play[os.Getenv(roleEnv)](); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "fail":
		os.Exit(3)
	case "stay":
		select {}
	}
	os.Exit(0)
}

// hello passes a message around a ring of ranks, pinned as asked for.
func hello() error {
	ch, err := pm.Open(2)
	if err != nil {
		return err
	}
	defer ch.Close()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil || os.Getenv("PINNED") != "" && set.Count() != 1 {
		return fmt.Errorf("rank %d runs on %d processors: %w", ch.Rank(), set.Count(), err)
	}
	if err := ch.SendBytes((ch.Rank()+1)%ch.Size(), []byte("hello")); err != nil {
		return err
	}
	for {
		m, err := ch.Receive()
		if errors.Is(err, pm.ErrEmpty) {
			continue
		}
		if err != nil {
			return err
		}
		if b, err := m.Bytes(); err != nil || string(b) != "hello" {
			return fmt.Errorf("%q: %w", b, err)
		}
		return ch.ReleaseReceiveBuffer(m)
	}
}

func start(t *testing.T, ranks int, cpus []int, role func(rank int) string) *local.Group {
	t.Helper()
	g, err := local.Start(local.Config{Ranks: ranks, CPUs: cpus, Command: func(rank int) *exec.Cmd {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), roleEnv+"="+role(rank), "GORACE=atexit_sleep_ms=0")
		if cpus != nil {
			cmd.Env = append(cmd.Env, "PINNED=1")
		}
		cmd.Stderr = os.Stderr
		return cmd
	}})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func always(role string) func(int) string { return func(int) string { return role } }

// TestGroup starts ranks, and leaves no descriptor behind.
func TestGroup(t *testing.T) {
	g := start(t, 1, nil, always("hello")) // whatever the runtime opens once, it opens here
	if err := errors.Join(g.Wait(), g.Close()); err != nil {
		t.Fatal(err)
	}
	before := processes.Descriptors()
	for _, cpus := range [][]int{nil, {0}} {
		g := start(t, 3, cpus, always("hello"))
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if after := processes.Descriptors(); after != before {
		t.Errorf("%d descriptors open, before it was %d", after, before)
	}
}

func TestFailuresAreNamed(t *testing.T) {
	g := start(t, 2, nil, func(rank int) string { return []string{"hello", "fail"}[rank] })
	defer g.Close()
	if err := g.Kill(0); err != nil {
		t.Fatal(err)
	}
	err := g.Wait()
	if err == nil || !strings.Contains(err.Error(), "rank 1: exit status 3") {
		t.Error(err)
	}
}

func TestCloseKills(t *testing.T) {
	g := start(t, 2, nil, always("stay"))
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Hub().Connect(0); !errors.Is(err, local.ErrClosed) {
		t.Error(err)
	}
	if _, err := g.Hub().Image(1, 0); !errors.Is(err, local.ErrClosed) {
		t.Error(err)
	}
}

func TestStartRefuses(t *testing.T) {
	_, err := local.Start(local.Config{Ranks: 2, Command: func(rank int) *exec.Cmd {
		return exec.Command("/proc/self/exe-not")
	}})
	if err == nil || !strings.Contains(err.Error(), "rank 0") {
		t.Error(err)
	}
	for _, ranks := range []int{0, -1, abi.MaxLocal + 1} {
		if _, err := local.NewHub(ranks, abi.Geometry{}); err == nil {
			t.Errorf("%d ranks", ranks)
		}
	}
	if _, err := local.NewHub(1, abi.Geometry{LaneBytes: 3}); !errors.Is(err, abi.ErrGeometry) {
		t.Error(err)
	}
}

// TestLateContexts: a context that is made after a death knows of it.
func TestLateContexts(t *testing.T) {
	hub, err := local.NewHub(3, abi.Geometry{})
	if err != nil {
		t.Fatal(err)
	}
	defer hub.Close()
	if _, err := hub.Image(1, 0); err != nil {
		t.Fatal(err)
	}
	hub.Ended(0)
	for rank := range uint32(2) {
		img, err := hub.Image(1, rank)
		if err != nil {
			t.Fatal(err)
		}
		if got := img.State() == abi.StateGone; got != (rank == 0) {
			t.Errorf("rank %d: gone %v", rank, got)
		}
		if got := img.PeerGone(0); got != (rank == 1) {
			t.Errorf("rank %d knows of the death: %v", rank, got)
		}
	}
}
