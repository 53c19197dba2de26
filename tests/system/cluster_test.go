package system

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"connectrpc.com/connect"
	"github.com/rogpeppe/go-internal/testscript"

	"score/scored/api/scorev1"
	"score/scored/client"
)

const (
	clusterStart = 60 * time.Second
	clusterStop  = 60 * time.Second
	pollInterval = 20 * time.Millisecond
)

// startCluster runs `scored dev` with the given arguments until the script
// ends, and points SCORE_SOCKET at it: `cluster --nodes 2`.
func startCluster(ts *testscript.TestScript, neg bool, args []string) {
	work := ts.Getenv("WORK")
	socket := filepath.Join(work, "dev.sock")
	cmd := exec.Command(filepath.Join(binaries, "scored"), append([]string{"dev", "--socket", socket}, args...)...)
	cmd.Dir = work
	cmd.Env = append(os.Environ(), "WORK="+work, "HOME="+work, "SCORE_LINK_FAULTS="+ts.Getenv("SCORE_LINK_FAULTS"))
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	ts.Check(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ts.Defer(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // may have ended by itself
		select {
		case <-ended:
		case <-time.After(clusterStop):
			_ = cmd.Process.Kill() // may have ended by itself
			<-ended
			ts.Logf("scored dev did not end in %v", clusterStop)
			ts.Logf("%s", output.String())
		}
		if groups := controlGroups(ts.Getenv("CLUSTER")); len(groups) > 0 {
			ts.Fatalf("control groups left behind: %s", strings.Join(groups, " "))
		}
	})
	ts.Setenv("SCORE_SOCKET", socket)
	ts.Setenv("CLUSTER_PID", strconv.Itoa(cmd.Process.Pid))
	name, err := waitUp(socket, nodesOf(args), ended)
	if err != nil {
		ts.Fatalf("%v\n%s", err, output.String())
	}
	ts.Setenv("CLUSTER", name)
}

func nodesOf(args []string) int {
	for i, a := range args {
		if a != "--nodes" || i+1 == len(args) {
			continue
		}
		if n, err := strconv.Atoi(args[i+1]); err == nil {
			return n
		}
	}
	return 1
}

// waitUp waits until all nodes are up, and returns the cluster's name.
func waitUp(socket string, nodes int, ended <-chan error) (string, error) {
	c := client.New(socket)
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), clusterStart)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		reply, err := c.Cluster.ListNodes(ctx, connect.NewRequest(&scorev1.ListNodesRequest{}))
		if err == nil && countUp(reply.Msg.GetNodes()) == nodes {
			version, err := c.Cluster.GetVersion(ctx, connect.NewRequest(&scorev1.GetVersionRequest{}))
			return version.Msg.GetCluster(), err
		}
		select {
		case err := <-ended:
			return "", fmt.Errorf("scored dev ended: %w", errors.Join(err, errEnded))
		case <-ctx.Done():
			return "", fmt.Errorf("%d nodes did not come up: %w", nodes, ctx.Err())
		case <-tick.C:
		}
	}
}

var errEnded = errors.New("it must run until the script ends")

func countUp(nodes []*scorev1.Node) int {
	up := 0
	for _, n := range nodes {
		if n.GetUp() {
			up++
		}
	}
	return up
}

// crash kills with signal 9 the descendants of this script's cluster whose
// command line has the word: `crash agent`, `crash steward`; or `crash PID`.
func crash(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: crash WORD|PID")
	}
	if pid, err := strconv.Atoi(args[0]); err == nil {
		ts.Check(syscall.Kill(pid, syscall.SIGKILL))
		return
	}
	killed := 0
	for _, p := range ours(ts.Getenv("WORK")) {
		if bytes.Contains(p.command, []byte("\x00"+args[0]+"\x00")) {
			// One may go by itself because another was killed.
			if err := syscall.Kill(p.pid, syscall.SIGKILL); !errors.Is(err, syscall.ESRCH) {
				ts.Check(err)
			}
			killed++
		}
	}
	if killed == 0 {
		ts.Fatalf("no process %q to crash", args[0])
	}
}

type process struct {
	pid     int
	command []byte
}

// ours finds the processes that belong to a script: its working directory is
// in their environment or command line.
func ours(work string) (found []process) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		command, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err != nil || len(command) == 0 {
			continue
		}
		environment, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err != nil {
			continue
		}
		if bytes.Contains(command, []byte(work)) || bytes.Contains(environment, []byte(work)) {
			found = append(found, process{pid, command})
		}
	}
	return found
}

// nothingLeft waits until no process and no control group of the script
// remains; what does remain is an error.
func nothingLeft(work string) error {
	deadline := time.Now().Add(clusterStop)
	for {
		left := leftovers(work)
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("left behind:\n  %s", strings.Join(left, "\n  "))
		}
		time.Sleep(pollInterval)
	}
}

func leftovers(work string) (left []string) {
	for _, p := range ours(work) {
		left = append(left, fmt.Sprintf("process %d: %s", p.pid, bytes.ReplaceAll(p.command, []byte{0}, []byte{' '})))
	}
	return left
}

// controlGroups lists what there is of a cluster's control groups.
func controlGroups(cluster string) (groups []string) {
	if cluster == "" {
		return nil
	}
	for _, root := range []string{"/sys/fs/cgroup/unified", "/sys/fs/cgroup", "/sys/fs/cgroup/memory"} {
		found, err := filepath.Glob(filepath.Join(root, "score."+cluster+".*"))
		if err == nil {
			groups = append(groups, found...)
		}
	}
	return groups
}
