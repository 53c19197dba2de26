package localtest

import (
	"os"
	"os/exec"
	"score/channels/abi"
	"score/pm/local"
	"score/tests/await"
	"testing"
)

// Self is this test's own program as a rank, with variables beside those of the test.
func Self(env ...string) *exec.Cmd {
	command := exec.Command("/proc/self/exe")
	command.Env = append(append(os.Environ(), "GORACE=atexit_sleep_ms=0"), env...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	return command
}

// Ranks starts ranks in processes of their own. They end with the test.
func Ranks(t testing.TB, config local.Config) *local.Group {
	t.Helper()
	group, err := local.Start(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := group.Close(); err != nil {
			t.Error(err)
		}
	})
	return group
}

// AwaitTraffic waits until a rank has sent something on channel 1.
func AwaitTraffic(t testing.TB, group *local.Group, rank int) {
	t.Helper()
	img, err := group.Hub().Image(1, uint32(rank))
	if err != nil {
		t.Fatal(err)
	}
	await.That(t, "traffic", func() bool { return img.Counter(abi.Sent) > 0 })
}
