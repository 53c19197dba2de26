package pm_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"score/channels/abi"
	"score/pm"
	"score/pm/local"
	"score/pm/local/localtest"
	"testing"
	"time"
)

// The tests start this binary again as ranks; what a rank does is named by the
// environment.
const roleEnv = "PM_TEST_ROLE"

// roles are the programs that ranks run.
var roles = map[string]func(*pm.Channel) error{}

func TestMain(m *testing.M) {
	role := os.Getenv(roleEnv)
	if role == "" {
		os.Exit(m.Run())
	}
	ch, err := pm.Open(1)
	if err == nil {
		err = roles[role](ch)
	}
	if err == nil {
		err = ch.Close()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", role, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// startRanks starts ranks that play a role.
func startRanks(t testing.TB, ranks int, role string, env ...string) *local.Group {
	t.Helper()
	return startShaped(t, abi.Geometry{}, ranks, role, nil, env...)
}

func startShaped(t testing.TB, g abi.Geometry, ranks int, role string, cpus []int, env ...string) *local.Group {
	t.Helper()
	return localtest.Ranks(t, local.Config{Ranks: ranks, CPUs: cpus, Geometry: g, Command: func(int) *exec.Cmd {
		return localtest.Self(append(env, roleEnv+"="+role)...)
	}})
}

// patience ends a test that hangs.
const patience = 60 * time.Second

func patient() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	context.AfterFunc(ctx, cancel)
	return ctx
}

// receive waits for the next message.
func receive(ch *pm.Channel) (pm.Message, error) {
	if err := ch.Wait(patient()); err != nil {
		return pm.Message{}, err
	}
	return ch.Receive()
}
