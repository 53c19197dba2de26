package embedded_test

import (
	"context"
	"os"
	"path/filepath"
	"score/cmd/scored/embedded"
	"score/nodeagent/steward"
	"score/scored/api/scorev1"
	"score/scored/client"
	"score/tests/socketdir"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "steward" {
		os.Exit(steward.Main(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// start runs an embedded cluster; stop ends it and returns Run's error.
func start(t *testing.T) (daemon *client.Client, stop func() error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- embedded.Run(ctx, embedded.Options{Steward: self, Ready: func(socket string) { ready <- socket }})
	}()
	stop = func() error {
		cancel()
		return <-ended
	}
	select {
	case socket := <-ready:
		daemon = client.New(socket)
		t.Cleanup(daemon.Close)
		return daemon, stop
	case err := <-ended:
		t.Fatal(err)
		return nil, nil
	}
}

// inOwnDir keeps the cluster's files in a directory of the test.
func inOwnDir(t *testing.T) string {
	t.Helper()
	dir := socketdir.Make(t)
	t.Setenv("XDG_RUNTIME_DIR", dir)
	return filepath.Join(dir, "score")
}

func submit(t *testing.T, daemon *client.Client, tasks uint32, argv ...string) uint64 {
	t.Helper()
	reply, err := daemon.Jobs.Submit(t.Context(), connect.NewRequest(&scorev1.SubmitRequest{Spec: &scorev1.JobSpec{
		Name: "test", Argv: argv, Env: os.Environ(), WorkDir: "/", Tasks: tasks, Oversubscribe: true, Detached: true,
		Stdin: scorev1.StdinMode_STDIN_MODE_NONE, StdoutPattern: os.DevNull, StderrPattern: os.DevNull,
	}}))
	if err != nil {
		t.Fatal(client.Sentence(err))
	}
	return reply.Msg.GetJobId()
}

func TestJob(t *testing.T) {
	dir := inOwnDir(t)
	daemon, stop := start(t)
	id := submit(t, daemon, 4, "/bin/sh", "-c", "exit $SCORE_RANK")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	reply, err := daemon.Jobs.WaitJob(ctx, connect.NewRequest(&scorev1.WaitJobRequest{JobId: id}))
	if err != nil {
		t.Fatal(client.Sentence(err))
	}
	if code := reply.Msg.GetJob().GetVerdict().GetExitCode(); code != 3 {
		t.Errorf("exit code %d, want 3", code)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// The end of the cluster is the end of its jobs, and nothing of them is left.
func TestEndWithJobs(t *testing.T) {
	dir := inOwnDir(t)
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	daemon, stop := start(t)
	submit(t, daemon, 1, "/bin/sh", "-c", "echo $$ > "+pipe+"; sleep 1000")
	text, err := os.ReadFile(pipe) // waits for the rank
	if err != nil {
		t.Fatal(err)
	}
	pid := strings.TrimSpace(string(text))
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat("/proc/" + pid); !os.IsNotExist(err) {
		t.Errorf("process %s outlived its job: %v", pid, err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestSweepOfNothing(t *testing.T) {
	embedded.Sweep("embedded-0", "nowhere", "/nowhere") // is quiet and makes nothing that stays
	if left, _ := filepath.Glob("/sys/fs/cgroup/*/score.embedded-0.nowhere"); len(left) != 0 {
		t.Errorf("made %v", left)
	}
}

// TestSilentNode: the node is in the server's process, so a machine that is too busy for its
// heartbeats is no reason to end the job.
func TestSilentNode(t *testing.T) {
	inOwnDir(t)
	daemon, stop := start(t)
	reply, err := daemon.Cluster.GetSettings(t.Context(), connect.NewRequest(&scorev1.GetSettingsRequest{}))
	if err != nil || time.Duration(reply.Msg.GetSettings().GetNodeSilenceNanos()) < time.Hour {
		t.Errorf("settings %v, %v", reply, err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
