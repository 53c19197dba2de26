package daemon

import (
	"errors"
	"os"
	"os/exec"
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
	if _, err := readToken("-", strings.NewReader(" \n")); !errors.Is(err, errNoToken) {
		t.Error(err)
	}
}

// The daemon that init tells of finds the configuration that init has written.
func TestInitAdvice(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a cluster's")
	p := initPlan{
		cluster: "lab", server: "head", address: "127.0.0.1", certificates: filepath.Join(dir, "c"), key: filepath.Join(dir, "key"),
		config: filepath.Join(dir, "score.toml"),
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	if err := p.run(t.Context(), &said); err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(said.String(), "run 'scored server")
	line, _, _ := strings.Cut(rest, " here;")
	line = strings.TrimSuffix(line, "'")
	words, err := exec.Command("sh", "-c", `printf '%s\n'`+line).Output()
	if want := "--config\n" + p.config + "\n"; err != nil || string(words) != want {
		t.Errorf("it advises %q, which are the words %q, %v; want %q", line, words, err, want)
	}
}
