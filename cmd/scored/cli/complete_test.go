package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"score/scored/api/scorev1"
	"score/scored/client/clienttest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
)

// complete asks what may follow a command line, as shells do; again where a busy machine took
// longer than a shell is kept waiting, as its user would.
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
	const running, queued, done = "3\tocean of ann, running", "4\t\"evil\\x1b[2Jname\" of ann, queued", "2\tcrash of 1001, done"
	for line, want := range map[string][]string{
		"job show":           {queued, running, done},
		"job show 3":         {},
		"job explain":        {queued, running, done},
		"job attach":         {queued, running},
		"job cancel":         {queued, running},
		"job cancel 3":       {queued},
		"job wait 4 2":       {running},
		"job requeue":        {queued, running},
		"job signal":         {},
		"job signal USR1":    {queued, running},
		"job signal USR1 3":  {queued},
		"job signal USR1 99": {queued, running},
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

func TestDaemonsAndTokensAreCompleted(t *testing.T) {
	socket := clienttest.Serve(t, clienttest.Daemon{
		Certificates: func() []*scorev1.DaemonCertificate {
			return []*scorev1.DaemonCertificate{
				{Role: "agent", Name: "n1"},
				{Role: "agent", Name: "n1"},
				{Role: "agent", Name: "n2", Revoked: true},
				{Role: "agent", Name: "n3"},
				{Role: "server", Name: "s1"},
			}
		},
		Tokens: func() []*scorev1.JoinToken { return []*scorev1.JoinToken{{Id: "ab12", Role: "agent"}} },
		Nodes:  exampleNodes,
	})
	for line, want := range map[string]string{
		"cert revoke":           "agent\nserver\n",
		"cert revoke agent":     "n1\nn3\n",
		"cert revoke server":    "s1\n",
		"cert revoke agent n1":  "",
		"token create --role":   "agent\nserver\n",
		"token remove":          "ab12\tagent\n",
		"token remove ab12":     "",
		"stage list --node":     "n1\tdraining\nn2\tlost\n",
		"stage clear --node":    "n1\tdraining\nn2\tlost\n",
		"metrics switch --node": "n1\tdraining\nn2\tlost\n",
	} {
		code, out, _ := complete(socket, line)
		if offered, _, ok := strings.Cut(out, ":"); code != 0 || !ok || offered != want {
			t.Errorf("scored %s <TAB>: code %d, %q, want %q", line, code, out, want)
		}
	}
}

// What is done is told programs, too.
func TestDoneAsJSON(t *testing.T) {
	staged := &scorev1.ListStagedResponse{
		Staged: []*scorev1.Staged{{Node: "n1", Uid: 1001, User: "ann", Files: 2, Bytes: 4096, Held: 1}},
		Silent: []string{"n2"}, Unconnected: []string{"n3"},
	}
	socket := clienttest.Serve(t, clienttest.Daemon{
		RemoveToken: func(id string) error {
			if id != "ab12" {
				return connect.NewError(connect.CodeNotFound, errors.New("there is no token "+id))
			}
			return nil
		},
		Staged: func(r *scorev1.ListStagedRequest) *scorev1.ListStagedResponse {
			if !r.GetClear() || r.GetNode() != "n1" {
				t.Errorf("ListStaged(%v)", r)
			}
			return staged
		},
	})
	for line, want := range map[string]string{
		"token remove ab12 --json":     `{"schema":1,"removed":"ab12"}`,
		"token remove ab12":            "",
		"token remove cd34 --json":     "",
		"stage clear --node n1 --json": `{"schema":1,"staged":[{"node":"n1","uid":1001,"user":"ann","files":2,"bytes":4096,"held":1}],"silent":["n2"],"unconnected":["n3"]}`,
	} {
		var out, errs, got bytes.Buffer
		root := Root()
		root.SetOut(&out)
		root.SetErr(&errs)
		code := Execute(root, append([]string{"--cluster", socket}, strings.Fields(line)...))
		if out.Len() > 0 {
			if err := json.Compact(&got, out.Bytes()); err != nil {
				t.Errorf("scored %s: %v", line, err)
			}
		}
		if wrong := strings.Contains(line, "cd34"); got.String() != want || (code != 0) != wrong || (errs.Len() > 0) != wrong {
			t.Errorf("scored %s: code %d, %s, %s, want %s", line, code, got.String(), errs.String(), want)
		}
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
