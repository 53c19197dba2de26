package daemon

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"score/tests/socketdir"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// An agent that is killed is told of, and at the end nothing of its node is left.
func TestDevLosesAnAgent(t *testing.T) {
	dir := socketdir.Make(t)
	t.Setenv("XDG_RUNTIME_DIR", dir)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	said, saying := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := runDev(ctx, devOptions{channels: 1, nodes: 2, logLevel: "error", out: saying})
		saying.CloseWithError(io.EOF)
		ended <- err
	}()
	var cluster, lost string
	for lines := bufio.NewScanner(said); lines.Scan(); {
		switch line := lines.Text(); {
		case strings.HasPrefix(line, "^C"):
			cluster = killAgent(t, dir, "n2")
		case strings.Contains(line, "has ended"):
			lost = line
			cancel()
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if !strings.Contains(lost, "node n2") {
		t.Errorf("the user is told %q", lost)
	}
	for _, tree := range []string{"", "unified", "memory"} {
		groups, err := filepath.Glob(filepath.Join("/sys/fs/cgroup", tree, "score."+cluster+".*"))
		if err != nil || len(groups) != 0 {
			t.Errorf("left behind: %v, %v", groups, err)
		}
	}
}

// killAgent kills the agent of a node by force and returns its cluster's name.
func killAgent(t *testing.T, dir, node string) (cluster string) {
	t.Helper()
	configs, err := filepath.Glob(filepath.Join(dir, "score", "dev-*", node+".toml"))
	if err != nil || len(configs) != 1 {
		t.Fatalf("configurations of node %s: %v, %v", node, configs, err)
	}
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range commands {
		command, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(command, []byte(configs[0])) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		return filepath.Base(filepath.Dir(configs[0]))
	}
	t.Fatalf("no agent with %s", configs[0])
	return ""
}
