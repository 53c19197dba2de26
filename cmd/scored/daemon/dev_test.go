package daemon

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"score/cmd/scored/cli"
	"score/nodeagent/steward"
	"score/scored/api/scorev1"
	"score/scored/client"
	"score/tests/socketdir"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
)

// TestMain lets this binary be the agents and stewards of its own clusters.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "steward":
			os.Exit(steward.Main(os.Args[2:]))
		case "server", "agent", "dev":
			root := cli.Root()
			root.AddCommand(Commands()...)
			os.Exit(cli.Execute(root, os.Args[1:]))
		}
	}
	os.Exit(m.Run())
}

// startDev runs a development cluster until stop, which returns runDev's error.
func startDev(t *testing.T, nodes int) (socket, dir string, stop func() error) {
	t.Helper()
	runtime := socketdir.Make(t)
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	ctx, cancel := context.WithCancel(t.Context())
	said, saying := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := runDev(ctx, devOptions{channels: 1, nodes: nodes, logLevel: "error", out: saying})
		saying.CloseWithError(io.EOF)
		ended <- err
	}()
	stop = func() error {
		cancel()
		return <-ended
	}
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "^C") { // the last line
			return filepath.Join(runtime, "score", "dev.sock"), filepath.Join(runtime, "score"), stop
		}
	}
	t.Fatal(<-ended)
	return "", "", nil
}

func TestDev(t *testing.T) {
	socket, dir, stop := startDev(t, 2)
	daemon := client.New(socket)
	defer daemon.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	spec := &scorev1.JobSpec{
		Name: "test", Argv: []string{"/bin/sh", "-c", "exit $SCORE_NODES"}, Env: os.Environ(), WorkDir: "/", Tasks: 2, Nodes: 2,
		Detached: true, Stdin: scorev1.StdinMode_STDIN_MODE_NONE, StdoutPattern: os.DevNull, StderrPattern: os.DevNull, Oversubscribe: true,
	}
	reply, err := daemon.Jobs.Submit(ctx, connect.NewRequest(&scorev1.SubmitRequest{Spec: spec}))
	if err != nil {
		t.Fatal(client.Sentence(err))
	}
	done, err := daemon.Jobs.WaitJob(ctx, connect.NewRequest(&scorev1.WaitJobRequest{JobId: reply.Msg.GetJobId()}))
	if err != nil {
		t.Fatal(client.Sentence(err))
	}
	if code := done.Msg.GetJob().GetVerdict().GetExitCode(); code != 2 {
		t.Errorf("exit code %d of a job that tells its nodes, want 2", code)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A job that is submitted before the nodes are there waits for them.
func TestJobWhileDevStarts(t *testing.T) {
	const nodes = 3
	runtime := socketdir.Make(t)
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	devCtx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- runDev(devCtx, devOptions{channels: 1, nodes: nodes, logLevel: "error", out: io.Discard})
	}()
	daemon := client.New(filepath.Join(runtime, "score", "dev.sock"))
	defer daemon.Close()
	id, err := daemon.Submit(client.WithPatience(ctx, client.Patience{Gone: -1, Undecided: -1}), &scorev1.JobSpec{
		Name: "test", Argv: []string{"/bin/true"}, WorkDir: "/", Tasks: nodes, Nodes: nodes,
		Detached: true, Stdin: scorev1.StdinMode_STDIN_MODE_NONE, StdoutPattern: os.DevNull, StderrPattern: os.DevNull, Oversubscribe: true,
	})
	if err != nil {
		t.Fatal(client.Sentence(err))
	}
	done, err := daemon.Jobs.WaitJob(ctx, connect.NewRequest(&scorev1.WaitJobRequest{JobId: id}))
	if err != nil || done.Msg.GetJob().GetVerdict().GetExitCode() != 0 {
		t.Errorf("the job ended with %v, %v", done, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A second cluster cannot take the first one's socket, and says so.
func TestSecondDev(t *testing.T) {
	socket, _, stop := startDev(t, 1)
	err := runDev(t.Context(), devOptions{channels: 1, nodes: 1, logLevel: "error", out: io.Discard})
	if err == nil || !strings.Contains(err.Error(), socket) {
		t.Errorf("a second cluster: %v", err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
