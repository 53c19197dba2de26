package daemon

import (
	"os"
	"path/filepath"
	"score/scored/api/identity/pki"
	"testing"
)

// A configuration that sets keys stays as it is: then the daemon must be told another name.
func TestJoinWithAName(t *testing.T) {
	set := filepath.Join(t.TempDir(), "set.toml")
	if err := os.WriteFile(set, []byte("[agent]\nname = \"n1\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	fresh := filepath.Join(t.TempDir(), "fresh.toml")
	for _, test := range []struct {
		file, name    string
		own           role
		agent, server string
		needed        bool
	}{
		{set, "", agentRole, "n1", "", false},
		{set, "n1", agentRole, "n1", "", false},
		{set, "n2", agentRole, "n2", "", true},
		{set, "s2", serverRole, "n1", "s2", true},
		{fresh, "n2", agentRole, "n2", "", false},
		{fresh, "s2", serverRole, "", "s2", false},
	} {
		c, err := joiningConfig(test.file, "-")
		if err != nil {
			t.Fatal(err)
		}
		needed := joinPlan{config: test.file, name: test.name}.setName(&c, test.own)
		if c.Agent.Name != test.agent || c.Server.Name != test.server || needed != test.needed {
			t.Errorf("%+v: names %q and %q, needed %v", test, c.Agent.Name, c.Server.Name, needed)
		}
	}
}

func TestStartLine(t *testing.T) {
	for _, test := range []struct {
		role  pki.Role
		flags string
		want  string
	}{
		{pki.Agent, "", "'systemctl enable --now score-agent' or 'scored agent'"},
		{pki.Server, "", "'systemctl enable --now score-server' or 'scored server'"},
		{pki.Server, " --config a.toml", "'scored server --config a.toml'"},
	} {
		if got := startLine(test.role, test.flags); got != test.want {
			t.Errorf("%s %q: %s, want %s", test.role, test.flags, got, test.want)
		}
	}
}
