// Package upgrade runs daemons of several versions beside each other.
package upgrade

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"score/scored/api/scorev1"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"score/tests/journal"
)

// bin has the programs of this tree.
var bin string

// times is how often the long tests are done, of many daemons and further versions of all programs.
var times = flag.Int("upgrade.times", 0, "how often whole clusters are upgraded, daemon by daemon")

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(daemonstest.Run(m, &bin))
}

// version builds the programs as if they were of another version.
func version(t *testing.T, name string, oldest, newest int) (dir string) {
	t.Helper()
	dir = filepath.Join(bin, name)
	if _, err := os.Stat(filepath.Join(dir, "scrun")); err == nil {
		return dir
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := daemons.BuildProtocols(dir, name, oldest, newest); err != nil {
		t.Fatal(err)
	}
	return dir
}

// complaints are what daemons say on standard error.
type complaints struct{ journal.Journal }

func (c *complaints) Write(p []byte) (int, error) {
	if testing.Verbose() {
		os.Stderr.Write(p)
	}
	return c.Journal.Write(p)
}

type scene struct {
	*daemons.Cluster
	t    *testing.T
	said *complaints
}

func (s *scene) await(what string, is func() bool) {
	s.t.Helper()
	if err := daemons.Await(s.t.Context(), what, is); err != nil {
		s.t.Fatal(err, "\n", s.said.String())
	}
}

// protocol is that in which the log is written; 0: nobody says.
func (s *scene) protocol() int {
	text, err := s.Command(s.t.Context(), s.Servers[0].Socket, "version", "--json")
	if err != nil {
		return 0
	}
	var told struct {
		Protocol int `json:"log_protocol"`
	}
	if err := json.Unmarshal([]byte(text), &told); err != nil {
		s.t.Fatal(err)
	}
	return told.Protocol
}

// versions are what the servers that answer say they are, by name.
func (s *scene) versions() map[string]string {
	text, err := s.Command(s.t.Context(), s.Servers[0].Socket, "server", "list", "--json")
	if err != nil {
		return nil
	}
	var list struct {
		Servers []struct{ Name, Version string }
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		s.t.Fatal(err)
	}
	versions := make(map[string]string)
	for _, server := range list.Servers {
		versions[server.Name] = server.Version
	}
	return versions
}

// replace starts a daemon anew as another version.
func (s *scene) replace(d *daemons.Daemon, dir string) {
	s.t.Helper()
	if err := d.Stop(); err != nil {
		s.t.Fatal(err)
	}
	d.Bin = dir
	if err := d.Start(); err != nil {
		s.t.Fatal(err)
	}
}

// lengthen sets what only the second protocol has.
func (s *scene) lengthen() error {
	_, err := s.Command(s.t.Context(), s.Servers[0].Socket, "config", "set", "history", "5000")
	return err
}

// TestUpgrade replaces the server, then the agent, of the smallest cluster. What the earlier version does not know is not in the log before.
func TestUpgrade(t *testing.T) {
	earlier := version(t, "earlier", 1, 1)
	said := new(complaints)
	s := &scene{t: t, said: said, Cluster: daemonstest.Start(t, daemons.Options{
		Bin: bin, ServerBin: earlier, AgentBin: earlier, Nodes: 1, Grace: time.Minute, Errors: said,
	})}
	s.beforeAll("n1")
	s.replace(s.Server, bin)
	s.await("the log is written in protocol 2", func() bool { return s.protocol() == 2 })
	s.connected()
	s.afterAll("n1")
	s.replace(s.Agents[0], bin)
	s.connected()
	s.passes("n1")
	s.quiet()
}

// TestRollingUpgrade replaces three servers and two agents, one after the other, while a program runs: it goes on, and what is new can be used when all servers are. Then nobody goes back.
func TestRollingUpgrade(t *testing.T) {
	if *times == 0 {
		t.Skip("part of make soak")
	}
	earlier, later := version(t, "earlier", 1, 1), version(t, "later", 1, 2)
	for range *times {
		t.Run("", func(t *testing.T) { roll(t, earlier, later) })
	}
}

func roll(t *testing.T, earlier, later string) {
	said := new(complaints)
	s := &scene{t: t, said: said, Cluster: daemonstest.Start(t, daemons.Options{
		Bin: bin, ServerBin: earlier, AgentBin: earlier, Nodes: 2, Servers: 3, Grace: time.Minute, Errors: said,
	})}
	id := s.submit()
	attached := s.attach()
	goesOn := func() {
		t.Helper()
		for rank := range 2 {
			file := filepath.Join(s.Dir, "beats."+strconv.Itoa(rank))
			size := sizeOf(file)
			s.await("rank goes on", func() bool { return sizeOf(file) > size })
		}
	}
	goesOn()
	for i, server := range s.Servers {
		if got := s.protocol(); got != 1 {
			t.Fatalf("with %d servers replaced the log is written in protocol %d", i, got)
		}
		s.beforeAll("n1,n2")
		s.replace(server, later)
		s.await(server.Name+" is of the later version", func() bool { return s.versions()[server.Name] == "later" })
		goesOn()
	}
	s.await("the log is written in protocol 2", func() bool { return s.protocol() == 2 })
	for _, agent := range s.Agents {
		s.connected() // agents of both versions are taken
		s.passes("n1,n2")
		s.replace(agent, later)
		s.await(agent.Name+" is of the later version", func() bool {
			text, err := s.Command(t.Context(), s.Servers[0].Socket, "node", "show", agent.Name)
			return err == nil && strings.Contains(text, "later") && strings.Contains(text, "up")
		})
		goesOn()
	}
	s.afterAll("n1,n2")
	attached()
	reply, err := s.Jobs.GetJob(t.Context(), connect.NewRequest(&scorev1.GetJobRequest{JobId: id}))
	if err != nil || reply.Msg.GetJob().GetState() != scorev1.JobState_JOB_STATE_RUNNING || reply.Msg.GetJob().GetRestarts() != 0 {
		t.Errorf("the job: %v, %v", reply, err)
	}
	s.goesNotBack(earlier)
}

// submit starts a job of a rank on each node that writes all the time until it is cancelled, at the end of the test at the latest.
func (s *scene) submit() uint64 {
	s.t.Helper()
	reply, err := s.Jobs.Submit(s.t.Context(), connect.NewRequest(&scorev1.SubmitRequest{Spec: &scorev1.JobSpec{
		Name: "upgraded", Argv: []string{"/bin/sh", "-c", "while :; do echo >>beats.$SCORE_RANK; sleep 0.02; done"},
		Env: []string{"PATH=/usr/bin:/bin"}, WorkDir: s.Dir, Tasks: 2, Nodes: 2, Detached: true, NodeList: []string{"n1", "n2"}, StdoutPattern: os.DevNull,
	}}))
	if err != nil {
		s.t.Fatal(err)
	}
	id := reply.Msg.GetJobId()
	s.t.Cleanup(func() {
		ctx := context.WithoutCancel(s.t.Context())
		_, _ = s.Jobs.CancelJob(ctx, connect.NewRequest(&scorev1.CancelJobRequest{JobId: id})) // the job tells whether it took effect
		err := daemons.Await(ctx, "the job has ended", func() bool {
			reply, err := s.Jobs.GetJob(ctx, connect.NewRequest(&scorev1.GetJobRequest{JobId: id}))
			return err == nil && reply.Msg.GetJob().GetState() == scorev1.JobState_JOB_STATE_DONE
		})
		if err != nil {
			s.t.Error(err)
		}
		s.quiet()
	})
	return id
}

// sizeOf is that of a file; 0: there is none yet.
func sizeOf(file string) int64 {
	info, err := os.Stat(file)
	if err != nil {
		return 0
	}
	return info.Size()
}

// goesNotBack tries what a downgrade would.
func (s *scene) goesNotBack(earlier string) {
	s.t.Helper()
	server := s.Servers[2]
	s.replace(server, earlier)
	select {
	case <-server.Ended():
	case <-time.After(daemons.Patience):
		s.t.Fatal("a server goes on with a log that it does not understand")
	}
	s.await("the server says why", func() bool {
		return s.said.Has("the cluster's log is written in protocol 2, and this program understands up to 1; start the version again that ran here last")
	})
	server.Bin = ""
	if err := server.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.await("the server is back", func() bool { return s.versions()[server.Name] == "dev" })
}

// TestFarVersions: an agent and a user's program whose protocols do not meet the server's are told which is too old.
func TestFarVersions(t *testing.T) {
	if *times == 0 {
		t.Skip("part of make soak")
	}
	far := version(t, "far", 98, 99)
	for range *times {
		t.Run("", func(t *testing.T) { refuseFar(t, far) })
	}
}

func refuseFar(t *testing.T, far string) {
	said := new(complaints)
	s := &scene{t: t, said: said, Cluster: daemonstest.Start(t, daemons.Options{Bin: bin, Nodes: 1, Errors: said})}
	want := "the server is too old: its version dev understands protocols 1 to 2, and "
	s.replace(s.Agents[0], far)
	select {
	case <-s.Agents[0].Ended():
	case <-time.After(daemons.Patience):
		t.Fatal("the agent goes on")
	}
	s.await("the agent says why", func() bool {
		return said.Has(want + "the agent, version far, at least protocol 98; upgrade the server")
	})
	s.Bin = far
	_, err := s.Command(t.Context(), s.Server.Socket, "job", "list")
	if err == nil || !strings.Contains(err.Error(), want+"this program, version far, at least protocol 98; upgrade the server") {
		t.Errorf("a user's program: %v", err)
	}
	if text, err := s.Command(t.Context(), s.Server.Socket, "version"); err != nil || !strings.Contains(text, "scored far, protocols 98 to 99") {
		t.Errorf("%s, %v", text, err)
	}
}
