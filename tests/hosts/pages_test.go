package hosts

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// pages are the sections whose lines are typed on hosts, word for word; none: all of the page.
var pages = map[string][]string{
	"docs/installing.md":    {"The first cluster, with systemd"},
	"docs/administering.md": {"Nodes", "TIPC between nodes", "Users and shares", "Upgrades and removal", "A server that is lost", "Keeping the state"},
}

// forming is where lines are typed that make the cluster.
const forming = "form"

// line is what a scenario types.
type line struct {
	scenario string
	shows    string // matches its output, in which hosts are as in the line
}

// silent is of a line without output.
const silent = `^$`

// Outputs of several lines.
const (
	// A busy machine may say again of a disk that it is slow.
	allServers = `(host\d .* (leader|follower) +(healthy|disk slow, \S+) .*\n?){3}$`
	joins      = `^Next: start it with 'systemctl enable --now score-(server|agent)' or 'scored (server|agent)'\.$`
	saved      = `cluster score at \S+ \S+: [1-9]\d* users?, 3 nodes, [1-9]\d* jobs? that ha(ve|s) not ended, \d+ that ha(ve|s); \d+ bytes$`
	alone      = `^/var/lib/score holds the state up to entry \d+\. The cluster's other servers are host2, host3\.\nWARNING: `
	restored   = `^/var/lib/score holds the state of \S+ \S+\. Start the server; then\n(?s:.*)let other servers join again`
)

// typed has the lines of the pages.
var typed = map[string]line{
	"sudo dpkg -i build/score_*.deb":                                            {forming, `(?m)^Setting up score \(`},
	"scored init --address host1 && systemctl enable --now score-server":        {forming, `^Cluster score is made\.\n`},
	"scored token create | scored join - && systemctl enable --now score-agent": {forming, joins},
	"scored token create --role server | ssh host2 scored join -":               {forming, joins},
	"ssh host2 systemctl enable --now score-server":                             {forming, silent},
	"scored token create | ssh host2 scored join -":                             {forming, joins},
	"ssh host2 systemctl enable --now score-agent":                              {forming, silent},
	"scored node list && scored server list": {
		forming, `^NAME .*\nhost1 +up .*\nhost2 +up .*\nhost3 +up .*\nSERVER .*\n` + allServers,
	},
	"scored token create | ssh host4 scored join -": {"remove", joins},
	"ssh host4 systemctl enable --now score-agent":  {"remove", silent},
	`scored node drain host3 --reason "new disk"`:   {"remove", silent},
	"scored node list -s drained,silent,lost":       {"remove", `^NAME .*\nhost3 +drained .*\n?$`},
	"scored node show host3": {
		"remove",
		`^node +host3\nstate +drained since .*\ndrained +by root at .*: new disk\n`,
	},
	"scored node resume host3":                                             {"remove", silent},
	"scored node drain host4":                                              {"remove", silent},
	"scored node remove host4":                                             {"remove", silent},
	"ssh host4 rm -r /etc/score/certificates/agent-host4":                  {"remove", silent},
	"ssh host4 systemctl restart score-agent":                              {"remove", silent},
	"systemctl enable --now score-tipc@eth0":                               {"tipc", silent},
	"systemctl restart score-agent":                                        {"tipc", silent},
	"tipc bearer list; tipc node list":                                     {"tipc", `^eth:vec0\nNode Identity .*(\n.* up)+$`},
	"scored node show host1":                                               {"tipc", `(?m)^link +tipc 18888 by eth:vec0$`},
	"scored user list":                                                     {"use", `^USER +ROLE +SHARE (?s:.*)\nann +operator +200 `},
	"scored user set ann share=200 cpus=64 role=operator":                  {"use", silent},
	"scored user set ann running=4 memory=2G":                              {"use", silent},
	"scored config list":                                                   {"use", `(?m)^slice +10ms `},
	"scored config set slice 10ms":                                         {"use", silent},
	"scored server list":                                                   {"upgrade", `^SERVER .*\n` + allServers},
	"scored node list":                                                     {"upgrade", `^NAME .* VERSION +REASON\n(host\d +up .*\n?){3}$`},
	"scored server remove host3":                                           {"purge", silent},
	"sudo dpkg -r score":                                                   {"purge", `(?m)^Removing score \(`},
	"sudo dpkg -P score":                                                   {"purge", `(?m)^Purging configuration files for score \(`},
	"scored snapshot save lab.snapshot":                                    {"restore", `^lab.snapshot: ` + saved},
	"scored snapshot show lab.snapshot":                                    {"restore", `^` + saved},
	"tar -C / -czf host1.tar.gz etc/score":                                 {"restore", silent},
	"tar -C / -xzf host1.tar.gz":                                           {"restore", silent},
	"scored snapshot restore lab.snapshot":                                 {"restore", restored},
	"systemctl start score-server":                                         {"restore", silent},
	"systemctl stop score-server":                                          {"restore", silent},
	"scored server recover":                                                {"restore", alone},
	"scored server recover --yes":                                          {"restore", alone + `.*\nServer host1 is the only one of its cluster\.`},
	"ssh host2 systemctl stop score-server":                                {"restore", silent},
	"ssh host2 rm -rf /var/lib/score /etc/score/certificates/server-host2": {"restore", silent},
	"ssh host2 systemctl start score-server":                               {"restore", silent},
}

// TestPages compares the pages with what is typed, without hosts.
func TestPages(t *testing.T) {
	shown := map[string]bool{}
	for file, sections := range pages {
		for _, section := range sections {
			lines := linesOf(t, file, section)
			if len(lines) == 0 {
				t.Errorf("%s has no commands in the section %q", file, section)
			}
			for _, line := range lines {
				shown[line] = true
				if typed[line].scenario == "" {
					t.Errorf("%s: no test types %q", file, line)
				}
			}
		}
	}
	for line := range typed {
		if !shown[line] {
			t.Errorf("%q is on no page", line)
		}
	}
}

// linesOf returns the commands of a page's section.
func linesOf(t *testing.T, file, section string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", file))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n## "+section+"\n")
	rest, _, _ = strings.Cut(rest, "\n## ")
	for line := range strings.Lines(rest) {
		code, ok := strings.CutPrefix(line, "    ")
		if !ok {
			continue
		}
		code, _, _ = strings.Cut(code, " #")
		lines = append(lines, strings.TrimSpace(code))
	}
	return lines
}

// overSSH matches a line whose last command is run on another host.
var overSSH = regexp.MustCompile(`^(?:(.*) \| )?ssh (host\d) (.*)$`)

// types types a line of a page at a host, as root in its home directory, and returns its output,
// which is as it should be.
func (s *site) types(h *host, line string) string {
	s.t.Helper()
	return s.typesAs(h, line, "")
}

// typesAs types a line with the name of another host in place of the page's.
func (s *site) typesAs(h *host, line, name string) string {
	s.t.Helper()
	s.note(line)
	enter := line
	if name != "" {
		enter = otherHost.ReplaceAllString(line, name)
	}
	out := s.enter(h, enter)
	// Of a leader that was just elected, lists are as they should be a little later.
	for end := time.Now().Add(patience); onlyShows.MatchString(line) && !typed[line].matches(out) && time.Now().Before(end); {
		out = s.enter(h, enter)
	}
	s.shows(line, out)
	return out
}

// onlyShows matches lines that change nothing.
var onlyShows = regexp.MustCompile(`^(scored (node|server|user|config) (list|show \S+)( && )?)+$`)

// shows fails if a line's output is not as it should be.
func (s *site) shows(line, out string) {
	s.t.Helper()
	if !typed[line].matches(out) {
		s.t.Errorf("%s: the output does not match %q:\n%s", line, typed[line].shows, out)
	}
}

func (l line) matches(out string) bool { return regexp.MustCompile(l.shows).MatchString(out) }

// note notes that a line of a page was typed.
func (s *site) note(line string) {
	s.t.Helper()
	if typed[line].scenario == "" {
		s.t.Fatalf("%q is on no page", line)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done[line] = true
}

// otherHost matches a host of a page that is not the first one.
var otherHost = regexp.MustCompile(`\bhost[2-9]\b`)

// enter runs a line. The hosts have neither ssh nor sudo: the test does what they would do.
func (s *site) enter(h *host, line string) string {
	s.t.Helper()
	far := overSSH.FindStringSubmatch(line)
	if far == nil {
		return h.must("cd /root && umask 077 && " + strings.TrimPrefix(line, "sudo "))
	}
	input, there, command := far[1], s.named(far[2]), far[3]
	if input != "" {
		command = "printf '%s\n' " + quote(s.enter(h, input)) + " | " + command
	}
	return s.enter(there, command)
}

func (s *site) named(name string) *host {
	s.t.Helper()
	for _, h := range s.hosts {
		if h.name == name {
			return h
		}
	}
	s.t.Fatalf("there is no %s", name)
	return nil
}

// allTyped fails for lines that a scenario was to type and has not.
func (s *site) allTyped(t *testing.T, scenario string) {
	t.Helper()
	for line, by := range typed {
		if by.scenario == scenario && !s.done[line] {
			t.Errorf("scenario %s has not typed %q", scenario, line)
		}
	}
}
