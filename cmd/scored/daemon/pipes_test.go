package daemon

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"score/cmd/scored/config"
	"score/scored/api/scorev1"
	"score/scored/client"
	"score/tests/await"
	"score/tests/ports"
	"score/tests/socketdir"
	"strings"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
)

// unreadPatience bounds the start and the end of a daemon on a busy machine.
const unreadPatience = time.Minute

// unread is a daemon as a process of its own, with a pipe for what it says.
type unread struct {
	*exec.Cmd
	says  *os.File
	ended chan error
}

func startUnread(t *testing.T, arguments ...string) *unread {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	u := &unread{Cmd: exec.Command("/proc/self/exe", arguments...), says: reader, ended: make(chan error, 1)}
	u.Stdout, u.Stderr = writer, writer
	if err := u.Start(); err != nil {
		t.Fatal(err)
	}
	writer.Close()
	go func() { u.ended <- u.Wait() }()
	t.Cleanup(func() {
		reader.Close()
		_ = u.Process.Kill() // it has ended, unless the test has failed
	})
	return u
}

// end closes the pipe, asks the daemon to end, and waits until it has, with exit code 0.
func (u *unread) end(t *testing.T, by syscall.Signal) {
	t.Helper()
	u.says.Close()
	if err := u.Process.Signal(by); err != nil {
		t.Error(err)
	}
	select {
	case err := <-u.ended:
		if err != nil {
			t.Errorf("at %v: %v", by, err)
		}
	case <-time.After(unreadPatience):
		t.Errorf("it does not end at %v", by)
	}
}

// A development cluster with a job, whose words nobody reads, ends in order.
func TestDevOutlivesItsReader(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds; run without -short")
	}
	for _, by := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(by.String(), func(t *testing.T) {
			dir := socketdir.Make(t)
			t.Setenv("XDG_RUNTIME_DIR", dir)
			u := startUnread(t, "dev", "--nodes", "2", "--log-level", "debug")
			for lines := bufio.NewScanner(u.says); lines.Scan() && !strings.HasPrefix(lines.Text(), "^C"); {
			}
			runSleeper(t, filepath.Join(dir, "score", "dev.sock"), 1)
			configs, err := filepath.Glob(filepath.Join(dir, "score", "dev-*"))
			if err != nil || len(configs) != 1 {
				t.Fatalf("directories of the cluster: %v, %v", configs, err)
			}
			u.end(t, by)
			nothingOf(t, filepath.Base(configs[0]), dir)
			if left, err := os.ReadDir(filepath.Join(dir, "score")); err != nil || len(left) != 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// So do a server and an agent. SIGTERM lets an agent's jobs go on; without one nothing stays.
func TestDaemonsOutliveTheirReaders(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds; run without -short")
	}
	for name, test := range map[string]struct {
		by  syscall.Signal
		job bool
	}{
		"interrupted with a job":   {syscall.SIGINT, true},
		"terminated without a job": {syscall.SIGTERM, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := socketdir.Make(t)
			c := config.Default()
			c.Cluster = config.Cluster{Name: fmt.Sprintf("unread-%d-%v", os.Getpid(), test.job), KeyFile: filepath.Join(dir, "key")}
			c.Server.DataDir, c.Server.Socket = filepath.Join(dir, "data"), filepath.Join(dir, "s")
			c.Server.AgentsListen = ports.Address(t)
			c.Agent.Servers, c.Agent.RunDir, c.Agent.Name = []string{c.Server.AgentsListen}, filepath.Join(dir, "r"), "n1"
			c.Agent.Listen = "127.0.0.1:0"
			c.Log.Level = "debug"
			file := filepath.Join(dir, "score.toml")
			if err := config.Write(file, c); err != nil {
				t.Fatal(err)
			}
			server := startUnread(t, "server", "--config", file)
			awaitUp(t, c.Server.Socket, 0)
			server.says.Close() // it says much when the agent comes, and when the job does
			agent := startUnread(t, "agent", "--config", file)
			awaitUp(t, c.Server.Socket, 1)
			agent.says.Close()
			if test.job {
				runSleeper(t, c.Server.Socket, 1)
			}
			agent.end(t, test.by)
			server.end(t, test.by)
			nothingOf(t, c.Cluster.Name, dir)
			if left, err := filepath.Glob(filepath.Join(dir, "r", "n1", "*.sock")); err != nil || len(left) != 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// awaitUp waits until the server answers and so many nodes are up.
func awaitUp(t *testing.T, socket string, nodes int) {
	t.Helper()
	daemon := client.New(socket)
	defer daemon.Close()
	await.That(t, fmt.Sprintf("%d nodes are up", nodes), func() bool {
		reply, err := daemon.Cluster.ListNodes(t.Context(), connect.NewRequest(&scorev1.ListNodesRequest{}))
		if err != nil {
			return false
		}
		up := 0
		for _, n := range reply.Msg.GetNodes() {
			if n.GetUp() {
				up++
			}
		}
		return up == nodes
	})
}

// runSleeper starts a job that does not end by itself, and waits until it runs.
func runSleeper(t *testing.T, socket string, nodes uint32) {
	t.Helper()
	daemon := client.New(socket)
	defer daemon.Close()
	spec := &scorev1.JobSpec{
		Name: "sleeper", Argv: []string{"sleep", "1000"}, Env: os.Environ(), WorkDir: "/", Tasks: nodes, Nodes: nodes,
		Detached: true, Stdin: scorev1.StdinMode_STDIN_MODE_NONE, StdoutPattern: os.DevNull, StderrPattern: os.DevNull, Oversubscribe: true,
	}
	submitted, err := daemon.Jobs.Submit(t.Context(), connect.NewRequest(&scorev1.SubmitRequest{Spec: spec}))
	if err != nil {
		t.Fatal(client.Sentence(err))
	}
	await.That(t, "the job runs", func() bool {
		reply, err := daemon.Jobs.GetJob(t.Context(), connect.NewRequest(&scorev1.GetJobRequest{JobId: submitted.Msg.GetJobId()}))
		if err != nil {
			t.Fatal(client.Sentence(err))
		}
		ranks := reply.Msg.GetRanks()
		return len(ranks) > 0 && ranks[0].GetState() == "running"
	})
}

// nothingOf waits until no process has the cluster's name or directory in its command line, and
// looks for control groups.
func nothingOf(t *testing.T, cluster, dir string) {
	t.Helper()
	await.That(t, "no process of "+cluster, func() bool {
		commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range commands {
			command, _ := os.ReadFile(path) // it may have ended
			if text := string(command); strings.Contains(text, cluster) || strings.Contains(text, dir) {
				return false
			}
		}
		return true
	})
	for _, tree := range []string{"", "unified", "memory"} {
		groups, err := filepath.Glob(filepath.Join("/sys/fs/cgroup", tree, "score."+cluster+".*"))
		if err != nil || len(groups) != 0 {
			t.Errorf("left behind: %v, %v", groups, err)
		}
	}
}
