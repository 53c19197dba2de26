package hosts

import (
	"regexp"
	"score/tests/earlier"
	"testing"
)

// files is a command that lists a host's files and users, but what the test itself and the package
// manager write there. The latter's database is copied to /var/backups at midnight.
const files = `{ find / -xdev \( -path /root -o -path /home -o -path /tmp -o -path /var/tmp -o -path /var/log -o -path /var/lib/dpkg \
	-o -path /var/backups -o -path /var/lib/systemd \) -prune -o -print; find /tmp /dev/shm /run/score; cut -d: -f1 /etc/passwd /etc/group; } 2>/dev/null |
	grep -vxE '/tmp/(out|held.out|lost.out|attached.*|systemd-private-.*)' | sort`

// upgrade upgrades the hosts from an earlier version under jobs, one after the other.
func (s *site) upgrade(t *testing.T) {
	first, _ := s.leader(s.hosts[0])
	_, release := s.held(first, "-N 3 -n 3")
	first.must(`(scrun -N 3 -n 3 sh -c 'while [ ! -e /tmp/go ]; do sleep 0.05; done; echo done' >/tmp/attached 2>/tmp/attached.err
echo $? >>/tmp/attached) >/dev/null 2>&1 &`)
	first.await("[ $(scored job list | grep -c running) = 2 ]")
	var jobs []string
	for i, h := range s.hosts {
		h.has(present)
		s.types(h, "sudo dpkg -i build/score_*.deb")
		for _, from := range s.hosts { // at once, of a server that starts or has just lost its leader, too
			jobs = append(jobs, from.must(`scrun -d -o /tmp/out -n 1 sh -c 'echo $SCORE_JOB_ID >>/var/tmp/ran'`))
		}
		h.must("systemctl is-active score-server score-agent")
		s.allWell(first)
		s.versions(h, i+1)
	}
	s.build = present
	release()
	for _, job := range jobs {
		first.must("scored job wait " + job)
	}
	s.ranAll(jobs)
	first.await(`[ "$(xargs </tmp/attached)" = "done done done 0" ] || { cat /tmp/attached /tmp/attached.err; exit 1; }`)
	t.Log("a user was told meanwhile: ", first.must("cat /tmp/attached.err"))
}

// versions fails unless the lists show this tree's version for the upgraded hosts, and the earlier
// one for the others.
func (s *site) versions(h *host, upgraded int) {
	s.t.Helper()
	for _, command := range []string{"scored server list", "scored node list"} {
		out := s.types(h, command)
		for i, other := range s.hosts {
			want := "dev"
			if i >= upgraded {
				want = earlier.Version
			}
			if !regexp.MustCompile(`(?m)^` + other.name + ` .* ` + want + ` `).MatchString(out) {
				s.t.Errorf("%s does not show that %s has version %s:\n%s", command, other.name, want, out)
			}
		}
	}
}

// leave removes the package from a host and installs it again, and at last takes this host out of
// the cluster and purges the package.
func (s *site) leave(*testing.T) {
	first, h := s.leader(s.hosts[0])
	s.mark()
	s.removePackage(first, h)
	s.calm()
	s.purge(first, h)
}

// removePackage removes the package under a job, and installs it again.
func (s *site) removePackage(first, h *host) {
	s.t.Helper()
	lost := first.must("scrun -d -o /tmp/out -N 3 -n 3 sleep 1000")
	first.await("scored job list | grep -E '^" + lost + " .*running'")
	s.types(h, "sudo dpkg -r score")
	if out, ok := h.try("pgrep -a scored || pgrep -ax -f 'sleep 1000'"); ok {
		s.t.Errorf("the removal has left %s", out)
	}
	first.await("scored history | grep '^" + lost + " '")
	s.types(h, "sudo dpkg -i build/score_*.deb")
	h.must("systemctl enable --now score-server score-agent")
	s.allWell(first)
}

// purge takes a host out of the cluster, which goes on, and removes all that the package has
// brought.
func (s *site) purge(first, h *host) {
	s.t.Helper()
	s.typesAs(first, "scored node drain host4", h.name)
	s.typesAs(first, "scored node remove host4", h.name)
	s.typesAs(first, "scored server remove host3", h.name)
	s.ended(h, "score-agent")
	s.ended(h, "score-server")
	h.must("systemctl enable --now score-tipc@" + tipcDevice)
	s.types(h, "sudo dpkg -r score")
	if out := h.must("tipc bearer list"); out != "" {
		s.t.Errorf("the removal has left bearers: %s", out)
	}
	h.must("test -e /var/lib/score")
	s.types(h, "sudo dpkg -P score")
	h.must(files + " >/var/tmp/after")
	if out, ok := h.try("diff /var/tmp/before /var/tmp/after"); !ok {
		s.t.Errorf("the purge has left another host than before: %s", out)
	}
	if out := h.must(`pgrep -a scored; find /sys/fs/cgroup -name '*score*'; ss -xl | grep score
systemctl list-units --all --plain --no-legend 'score*'; systemctl list-unit-files --no-legend 'score*'; true`); out != "" {
		s.t.Errorf("the purge has left %s", out)
	}
	if got := first.must("scrun -N 2 -n 2 echo hello"); got != "hello\nhello" {
		s.t.Errorf("a job on the hosts that stay wrote %q", got)
	}
	first.must("[ $(scored server list | grep -c healthy) = 2 ]")
}
