package system

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"score/scored/api/scorev1"
	"score/scored/failpoint"
	"score/tests/devcluster"
	"score/tests/processes"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"connectrpc.com/connect"
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

const (
	clusterStop  = 60 * time.Second
	pollInterval = 20 * time.Millisecond
)

// startCluster runs `scored dev` with a number of nodes, and of channels of each, until the script
// ends, and points SCORE_SOCKET at it: `cluster --nodes 2`, `cluster --nodes 2 --channels 40`.
// Without CAP_SYS_ADMIN its jobs have the host's /dev/shm: `cluster --nodes 2 --no-sys-admin`.
func startCluster(ts *testscript.TestScript, neg bool, args []string) {
	work := ts.Getenv("WORK")
	var output bytes.Buffer
	var wrapper []string
	if i := slices.Index(args, "--no-sys-admin"); i >= 0 {
		args, wrapper = slices.Delete(args, i, i+1), []string{"setpriv", "--bounding-set=-sys_admin"}
	}
	nodes, channels := sizeOf(ts, args)
	dev, err := devcluster.Start(context.Background(), devcluster.Options{
		Scored: filepath.Join(binaries, "scored"), Socket: filepath.Join(work, "dev.sock"), Nodes: nodes, Channels: channels, Wrapper: wrapper,
		Dir: work, Env: append(os.Environ(), "WORK="+work, "HOME="+work, "SCORE_LINK_FAULTS="+ts.Getenv("SCORE_LINK_FAULTS"),
			failpoint.Variable+"="+ts.Getenv(failpoint.Variable)),
		Output: &output, Errors: &output,
	})
	if err != nil {
		ts.Fatalf("%v\n%s", err, output.String())
	}
	ts.Defer(func() {
		if err := dev.Stop(); err != nil {
			ts.Fatalf("%v\n%s", err, output.String())
		}
		if groups := controlGroups(ts.Getenv("CLUSTER")); len(groups) > 0 {
			ts.Fatalf("control groups left behind: %s", strings.Join(groups, " "))
		}
	})
	version, err := dev.Cluster.GetVersion(context.Background(), connect.NewRequest(&scorev1.GetVersionRequest{}))
	ts.Check(err)
	ts.Setenv("SCORE_SOCKET", dev.Socket)
	ts.Setenv("CLUSTER_PID", strconv.Itoa(dev.PID()))
	ts.Setenv("CLUSTER", version.Msg.GetCluster())
	ts.Check(noteDevFiles(work, version.Msg.GetCluster()))
}

func sizeOf(ts *testscript.TestScript, args []string) (nodes, channels int) {
	const usage = "usage: cluster --nodes NUMBER [--channels NUMBER]"
	numbers := map[string]*int{"--nodes": &nodes, "--channels": &channels}
	for i := 0; i < len(args); i += 2 {
		number := numbers[args[i]]
		if number == nil || i+1 == len(args) {
			ts.Fatalf(usage)
		}
		n, err := strconv.Atoi(args[i+1])
		ts.Check(err)
		*number = n
	}
	if nodes == 0 {
		ts.Fatalf(usage)
	}
	return nodes, channels
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
		if bytes.Contains(p.Command, []byte("\x00"+args[0]+"\x00")) {
			ts.Check(killAndWait(p.PID))
			killed++
		}
	}
	if killed == 0 {
		ts.Fatalf("no process %q to crash", args[0])
	}
}

// killAndWait returns when the process has ended: on a busy machine that takes a while, and an
// agent cannot know before.
func killAndWait(pid int) error {
	if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
		return err // one may go by itself because another was killed
	}
	return processes.AwaitEnd(pid)
}

// ours finds the processes that belong to a script: its working directory is
// in their environment or command line.
func ours(work string) (found []processes.Process) {
	// Scripts run beside each other, and the name of one may begin that of another.
	name := regexp.MustCompile(regexp.QuoteMeta(work) + `([^\w-]|$)`)
	for p := range processes.All() {
		if name.Match(p.Command) || name.Match(p.Environ) {
			found = append(found, p)
		}
	}
	return found
}

// nothingLeft waits until no process and no file of a job of the script
// remains; what does remain is an error.
func nothingLeft(work string) error {
	return awaitNone(func() []string { return leftovers(work) })
}

// awaitNone waits until a list is empty; what stays in it is an error.
func awaitNone(list func() []string) error {
	deadline := time.Now().Add(clusterStop)
	for {
		left := list()
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
		left = append(left, fmt.Sprintf("process %d: %s", p.PID, bytes.ReplaceAll(p.Command, []byte{0}, []byte{' '})))
	}
	for _, path := range jobFiles(work) {
		left = append(left, "files of a job: "+path)
	}
	return left
}

// controlGroups lists what is left of a cluster's control groups.
func controlGroups(cluster string) (groups []string) {
	if cluster == "" {
		return nil
	}
	for _, root := range []string{"/sys/fs/cgroup/unified", "/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids"} {
		found, err := filepath.Glob(filepath.Join(root, "score."+cluster+".*"))
		if err == nil {
			groups = append(groups, found...)
		}
	}
	return groups
}
