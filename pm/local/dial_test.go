package local_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"score/channels/abi"
	"score/channels/handover"
	"score/pm"
	"score/pm/local"
	"testing"
)

// TestDial: a rank that inherited no descriptor dials, and the kernel says who it is.
func TestDial(t *testing.T) {
	hub, err := local.NewHub(1, abi.Geometry{})
	if err != nil {
		t.Fatal(err)
	}
	defer hub.Close()
	path := filepath.Join(t.TempDir(), "ranks")
	listener, err := handover.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), roleEnv+"=hello", pm.EnvPath+"="+path, "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err := listener.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	who, err := handover.Peer(conn)
	if err != nil || int(who.Pid) != cmd.Process.Pid {
		t.Errorf("%+v dialled, want process %d: %v", who, cmd.Process.Pid, err)
	}
	if err := hub.Job(0).Serve(conn, 0); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
