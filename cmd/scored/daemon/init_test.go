package daemon

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// A host that is made a server may become a node too, and is to be reached as both.
func TestInitListens(t *testing.T) {
	for _, test := range []struct{ address, server, agent string }{
		{"", "head:7420", "head:7421"},
		{"10.0.0.1", "10.0.0.1:7420", "10.0.0.1:7421"},
		{"host1:9000", "host1:9000", "host1:7421"},
		{"2001:db8::1", "[2001:db8::1]:7420", "[2001:db8::1]:7421"},
	} {
		dir := t.TempDir()
		p := initPlan{cluster: "lab", server: "head", address: test.address, certificates: filepath.Join(dir, "c"), key: filepath.Join(dir, "key")}
		c, err := p.configuration()
		if err != nil || c.Server.AgentsListen != test.server || c.Agent.Listen != test.agent {
			t.Errorf("%q: the server listens at %q, the agent at %q, %v", test.address, c.Server.AgentsListen, c.Agent.Listen, err)
		}
	}
}

func TestNoToken(t *testing.T) {
	if _, err := (joining{text: "-"}).token(strings.NewReader(" \n")); !errors.Is(err, errNoToken) {
		t.Error(err)
	}
}
