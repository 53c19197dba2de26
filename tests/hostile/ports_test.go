package hostile

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"score/cmd/scored/config"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"strings"
	"testing"
	"time"
)

// visitsEnough are as many connections as show what daemons do with a thief: they come again and
// again.
const visitsEnough = 5

// In a cluster without certificates an ordinary user takes the port of each daemon while that is
// away. He learns nothing of the key, no daemon obeys him, and when the daemon is back all goes on,
// the job that ran meanwhile too.
func TestPortsTakenByOthers(t *testing.T) {
	s := daemonstest.NewScene(t, daemons.Options{Bin: bin, Nodes: 2, Grace: daemons.Patience})
	gang, err := s.Exchange("gang", "n1,n2", 2)
	s.Check(err)
	_, err = gang.AwaitRounds(s.Ctx, time.Now())
	s.Check(err)
	for _, d := range []*daemons.Daemon{s.Server, s.Agent("n1")} {
		t.Run(d.Name, func(t *testing.T) {
			settings, err := config.Load(filepath.Join(s.Dir, d.Name+".toml"))
			s.Check(err)
			address := settings.Agent.Listen
			if d == s.Server {
				address = settings.Server.AgentsListen
			}
			got := steal(t, s, d, address)
			key, err := os.ReadFile(s.KeyFile())
			s.Check(err)
			if bytes.Contains(got.Heard, bytes.TrimSpace(key)) {
				t.Errorf("the thief of %s was shown the key", d.Name)
			}
			if len(got.Calls) > 0 {
				t.Errorf("the thief of %s was called: %v", d.Name, got.Calls)
			}
			s.Check(d.Start())
			s.Check(s.AwaitUp(s.Ctx))
			_, err = gang.AwaitRounds(s.Ctx, time.Now())
			s.Check(err)
		})
	}
	s.End(gang)
}

// steal has a user take the port of a daemon that is killed, until enough have come to him.
func steal(t *testing.T, s *daemonstest.Scene, d *daemons.Daemon, address string) (got loot) {
	t.Helper()
	dir, err := os.MkdirTemp("", "loot")
	s.Check(err)
	defer os.RemoveAll(dir)
	s.Check(os.Chmod(dir, 0o777))
	file := filepath.Join(dir, "loot")
	p := start(t, s.Cluster, eve, "thief", addressVariable+"="+address, clusterVariable+"="+s.Name, lootVariable+"="+file)
	d.Kill()
	if line := p.line(); line != "taken" {
		t.Fatalf("the thief says %q", line)
	}
	for range visitsEnough {
		if line := p.line(); !strings.HasPrefix(line, "somebody") {
			t.Fatalf("the thief says %q", line)
		}
	}
	p.input.Close()
	var text []byte
	s.Await("the thief's loot", func() bool {
		text, err = os.ReadFile(file)
		return err == nil && json.Unmarshal(text, &got) == nil
	})
	if len(got.Heard) == 0 {
		t.Error("nobody came to the thief")
	}
	return got
}
