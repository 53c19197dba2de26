package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"score/scored/client/clienttest"
)

// complete asks what may follow a command line, as shells do; again where a busy machine took longer than a shell is
// kept waiting, as its user would.
func complete(socket, line string) (code int, out, errs string) {
	const times = 20
	for range times {
		begin := time.Now()
		if code, out, errs = completeOnce(socket, line); time.Since(begin) < completeTimeout {
			break
		}
	}
	return code, out, errs
}

func completeOnce(socket, line string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	root := Root()
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	code = Execute(root, append(append([]string{"__complete", "--cluster", socket}, strings.Fields(line)...), ""))
	return code, stdout.String(), stderr.String()
}

func TestJobNumbersAreCompleted(t *testing.T) {
	socket := clienttest.Serve(t, example(t))
	const running, queued, done = "3\tocean of ann, running", "4\tevil?[2Jname of ann, queued", "2\tcrash of 1001, done"
	for line, want := range map[string][]string{
		"job show":           {running, queued, done},
		"job show 3":         {},
		"job explain":        {running, queued, done},
		"job attach":         {running, queued},
		"job cancel":         {running, queued},
		"job cancel 3":       {queued},
		"job wait 4 2":       {running},
		"job requeue":        {running, queued},
		"job signal":         {},
		"job signal USR1":    {running, queued},
		"job signal USR1 3":  {queued},
		"job signal USR1 99": {running, queued},
	} {
		code, out, _ := complete(socket, line)
		offered := strings.Split(strings.TrimSpace(out), "\n")
		if got := strings.Join(offered[:len(offered)-1], "\n"); code != 0 || got != strings.Join(want, "\n") {
			t.Errorf("scored %s <TAB>: code %d, %q, want %q", line, code, got, want)
		}
	}
}

func TestNodesAreCompleted(t *testing.T) {
	socket := clienttest.Serve(t, example(t))
	for _, line := range []string{"channel list --node", "node drain", "node show"} {
		code, out, _ := complete(socket, line)
		if code != 0 || !strings.HasPrefix(out, "n1\tdraining\nn2\tlost\n") {
			t.Errorf("%s: code %d, %q", line, code, out)
		}
	}
	if _, out, _ := complete(socket, "node show n1"); strings.Contains(out, "n2") {
		t.Errorf("a second node is offered: %q", out)
	}
}

// A shell shows nothing and goes on.
func TestCompletionWithoutADaemon(t *testing.T) {
	var mute clienttest.Daemon // answers that it cannot list jobs
	for name, socket := range map[string]string{"none": t.TempDir() + "/none", "mute": clienttest.Serve(t, mute)} {
		code, out, errs := complete(socket, "job show")
		if code != 0 || strings.Count(out, "\n") != 1 || strings.Contains(errs, "scored:") {
			t.Errorf("%s: code %d, output %q, errors %q", name, code, out, errs)
		}
	}
}
