package hosts

import (
	"flag"
	"strings"
	"sync"
	"testing"
)

// Without either the test is left out: its guests need the machine for themselves.
var (
	short = flag.Bool("hosts.short", false, "form a cluster, use it, end its daemons, and cut the leader's power")
	all   = flag.Bool("hosts.all", false, "try all faults, upgrades, and added and removed hosts")
)

// servers is how many hosts have a server.
const servers = 3

// install installs the package, which starts nothing.
func (s *site) install(h *host) {
	s.t.Helper()
	h.has(s.build)
	if *all {
		h.must(files + " >/var/tmp/before")
	}
	s.types(h, "sudo dpkg -i build/score_*.deb")
	if out, ok := h.try("systemctl is-active score-server score-agent"); ok {
		s.t.Errorf("%s: the package has started something: %s", h.name, out)
	}
}

// has gives a host the packages of a version.
func (h *host) has(build string) {
	h.t.Helper()
	h.must("ln -sfn " + packagesDir + "/" + build + " /root/build")
}

// form makes a cluster of the site's hosts.
func (s *site) form() {
	s.t.Helper()
	first := s.hosts[0]
	s.types(first, "scored init --address host1 && systemctl enable --now score-server")
	s.types(first, "scored token create | scored join - && systemctl enable --now score-agent")
	var work sync.WaitGroup
	for _, h := range s.hosts[1:] { // at the same time; a failure ends only its goroutine
		work.Go(func() {
			s.typesAs(first, "scored token create --role server | ssh host2 scored join -", h.name)
			s.typesAs(first, "ssh host2 systemctl enable --now score-server", h.name)
			s.typesAs(first, "scored token create | ssh host2 scored join -", h.name)
			s.typesAs(first, "ssh host2 systemctl enable --now score-agent", h.name)
		})
	}
	work.Wait()
	first.awaitUp(s.hosts...)
	s.types(first, "scored node list && scored server list")
}

// awaitUp waits until these hosts are nodes that are up.
func (h *host) awaitUp(hosts ...*host) {
	h.t.Helper()
	for _, other := range hosts {
		h.await("scored node list | grep -qE '^" + other.name + " +up '")
	}
}

// leader returns the host whose server leads, as the commands on h show, and another one with a
// server.
func (s *site) leader(h *host) (leader, follower *host) {
	s.t.Helper()
	h.await("scored server list | grep -q ' leader '")
	name := h.must("scored server list | awk '$3 == \"leader\" {print $1}'")
	for _, other := range s.hosts[:servers] {
		if other.name == name {
			leader = other
		} else {
			follower = other
		}
	}
	if leader == nil {
		s.t.Fatalf("no host has the leader %q", name)
	}
	return leader, follower
}

// TestHosts makes a cluster of three hosts, of an earlier version if all is tried. Each subtest but
// the last leaves it as it was.
func TestHosts(t *testing.T) {
	if !*short && !*all {
		t.Skip("three hosts in guests take the whole machine: make hosts, and a short form in .ci/run")
	}
	s := newSite(t)
	s.add(servers)
	s.form()
	s.allTyped(t, forming)
	for _, test := range []struct {
		name  string
		short bool // part of the short form
		calm  bool // no daemon logs an error meanwhile
		run   func(*site, *testing.T)
	}{
		{"upgrade", false, true, (*site).upgrade},
		{"use", true, false, (*site).use},
		{"service", true, false, (*site).service},
		{"tipc", false, false, (*site).tipc},
		{"leader-power", true, false, func(s *site, t *testing.T) { s.power(t, true) }},
		{"follower-power", false, false, func(s *site, t *testing.T) { s.power(t, false) }},
		{"reboot", false, true, (*site).reboot},
		{"cable", true, false, (*site).cable},
		{"hung", false, false, (*site).hung},
		{"clock", false, false, (*site).clock},
		{"disk", false, false, (*site).disk},
		{"restore", false, false, (*site).restore},
		{"remove", false, true, (*site).remove},
		{"replace", false, false, (*site).replace},
		{"purge", false, false, (*site).leave},
	} {
		if !test.short && !*all {
			continue
		}
		if !t.Run(test.name, func(t *testing.T) {
			s.in(t)
			if test.calm {
				s.mark()
			}
			test.run(s, t)
			s.allTyped(t, test.name)
			if test.calm {
				s.calm()
			}
		}) {
			s.in(t)
			for _, h := range s.hosts {
				t.Logf("%s:\n%s", h.name, h.report())
			}
			return // the cluster may not be what the next one needs
		}
		s.in(t)
	}
}

// in makes t the test that a failure ends.
func (s *site) in(t *testing.T) {
	s.t = t
	for _, h := range s.hosts {
		h.t = t
	}
}

// shares gives a user a larger share, limits and a role, and sets the slice, as the page says. An
// operator may cancel others' jobs.
func (s *site) shares(h *host) {
	s.t.Helper()
	s.types(h, "scored user set ann share=200 cpus=64 role=operator")
	s.types(h, "scored user set ann running=4 memory=2G")
	s.types(h, "scored user list")
	s.types(h, "scored config set slice 10ms")
	s.types(h, "scored config list")
	job := h.must(as("bob", "scrun -d -n 1 sleep 1000"))
	h.must(as("ann", "scored job cancel --now "+job))
	h.must("scored config set slice 100ms && scored user set ann role=user share=100")
	job = h.must(as("bob", "scrun -d -n 1 sleep 1000"))
	if out, ok := h.try(as("ann", "scored job cancel --now "+job)); ok {
		s.t.Errorf("a user who is no operator any more has cancelled another one's job: %s", out)
	}
	h.must("scored job cancel --now " + job)
}

// use runs what two users run: an MPI program that only one host has, gangs that share, output and
// history.
func (s *site) use(t *testing.T) {
	for _, h := range s.hosts {
		h.must("ps -eLo cls,rtprio,comm | grep -E '^ *FF +40 scored'") // the thread that switches gangs
	}
	h := s.hosts[1]
	s.shares(h)
	h.must("install -o ann /mnt/packages/sum /home/ann/sum")
	if got := h.must(as("ann", "scrun --stage -N 3 -n 3 ./sum 20")); got != "sum of 3 ranks is 3" {
		t.Errorf("the MPI program wrote %q", got)
	}
	if got := h.must(as("bob", "scrun -N 3 -n 3 -l hostname | sort")); got != "0: host1\n1: host2\n2: host3" &&
		strings.Count(got, "host") != 3 {
		t.Errorf("hostname wrote %q", got)
	}
	const spin = `scrun -d -N 3 -n 3 -o out sh -c "while [ ! -e /tmp/go ]; do :; done; echo done"`
	ann, bob := h.must(as("ann", spin)), h.must(as("bob", spin))
	h.await("[ $(scored job list | grep -c running) = 2 ]")
	for _, other := range s.hosts {
		other.must("touch /tmp/go")
	}
	for user, job := range map[string]string{"ann": ann, "bob": bob} {
		h.must("scored job wait " + job)
		for _, other := range s.hosts { // each host has the output of its ranks
			if got := other.must("cat /home/" + user + "/out"); got != "done" {
				t.Errorf("the output of %s at %s is %q", user, other.name, got)
			}
		}
		h.must("scored history | grep -E '^" + job + " .* " + user + " .*exited, exit code 0'")
	}
	for _, other := range s.hosts {
		other.must("rm /tmp/go")
	}
	s.calm() // since the first boot, or the upgrade
}
