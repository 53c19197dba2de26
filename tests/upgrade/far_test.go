//go:build soak

package upgrade

import (
	"score/tests/daemons"
	"strings"
	"testing"
	"time"
)

// TestFarVersions: an agent and a user's program whose protocols do not meet the server's get a
// sentence that says which is too old.
func TestFarVersions(t *testing.T) {
	far := version(t, "far", 98, 99)
	s := newScene(t, daemons.Options{Nodes: 1})
	want := "the server is too old: its version dev understands protocols 1 to 2, and "
	s.replace(s.Agents[0], far)
	select {
	case <-s.Agents[0].Ended():
	case <-time.After(daemons.Patience):
		t.Fatal("the agent goes on")
	}
	s.Await("the agent says why", func() bool {
		return s.said.Has(want + "the agent, version far, at least protocol 98; upgrade the server")
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
