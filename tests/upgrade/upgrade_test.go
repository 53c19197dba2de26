// Package upgrade runs daemons of several versions beside each other.
package upgrade

import (
	"encoding/json"
	"os"
	"path/filepath"
	"score/scored/api/scorev1"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"score/tests/journal"
	"strings"
	"testing"
	"time"
)

// bin has the programs of this tree.
var bin string

func TestMain(m *testing.M) { os.Exit(daemonstest.Run(m, &bin)) }

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

// scene is a cluster in which each daemon may be of another version.
type scene struct {
	*daemonstest.Scene
	said *journal.Journal // what the daemons say
}

func newScene(t *testing.T, o daemons.Options) *scene {
	t.Helper()
	said := new(journal.Journal)
	o.Bin, o.Grace, o.Errors = bin, time.Minute, said
	return &scene{said: said, Scene: daemonstest.NewScene(t, o)}
}

// protocol is that in which the log is written; 0: nobody says.
func (s *scene) protocol() int {
	text, err := s.Command(s.Ctx, s.Servers[0].Socket, "version", "--json")
	if err != nil {
		return 0
	}
	var told struct {
		Protocol int `json:"log_protocol"`
	}
	s.Check(json.Unmarshal([]byte(text), &told))
	return told.Protocol
}

// versions are what the servers that answer say they are, by name.
func (s *scene) versions() map[string]string {
	text, err := s.Command(s.Ctx, s.Servers[0].Socket, "server", "list", "--json")
	if err != nil {
		return nil
	}
	var list struct {
		Servers []struct{ Name, Version string }
	}
	s.Check(json.Unmarshal([]byte(text), &list))
	versions := make(map[string]string)
	for _, server := range list.Servers {
		versions[server.Name] = server.Version
	}
	return versions
}

// replace starts a daemon again as another version.
func (s *scene) replace(d *daemons.Daemon, dir string) {
	s.T.Helper()
	s.Check(d.Stop())
	d.Bin = dir
	s.Check(d.Start())
}

// lengthen sets what only the second protocol has.
func (s *scene) lengthen() error {
	_, err := s.Command(s.Ctx, s.Servers[0].Socket, "config", "set", "history", "5000")
	return err
}

// TestUpgrade replaces the server, then the agent, of the smallest cluster. What the earlier
// version does not know is not in the log before.
func TestUpgrade(t *testing.T) {
	earlier := version(t, "earlier", 1, 1)
	s := newScene(t, daemons.Options{ServerBin: earlier, AgentBin: earlier, Nodes: 1})
	s.beforeAll("n1")
	s.replace(s.Server, bin)
	s.Await("the log is written in protocol 2", func() bool { return s.protocol() == 2 })
	s.connected()
	s.afterAll("n1")
	s.Check(s.bytes("n1", func(v *scorev1.Verdict) bool {
		return v.GetReason() == scorev1.EndReason_END_REASON_CANNOT_START && strings.HasSuffix(v.GetMessage(), "upgrade the agent")
	}))
	s.replace(s.Agents[0], bin)
	s.connected()
	s.passes("n1")
	s.Check(s.bytes("n1", carried))
	s.quiet(s.Ctx)
}
