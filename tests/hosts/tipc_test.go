package hosts

import (
	"strings"
	"testing"
)

// tipcDevice is what guests call eth0.
const tipcDevice = "vec0"

// tipc has channels go between the hosts by TIPC, as the page says, also after a reboot and without
// a bearer, and then by UDP again.
func (s *site) tipc(t *testing.T) {
	first, rebooted := s.leader(s.hosts[0])
	first.must("modprobe tipc && tipc bearer enable media eth device " + tipcDevice) // the unit is content with it
	const enable = "systemctl enable --now score-tipc@eth0"
	for _, h := range s.hosts {
		s.note(enable)
		s.shows(enable, s.enter(h, strings.Replace(enable, "eth0", tipcDevice, 1)))
		s.link(h, "tipc")
	}
	s.reached(first)
	s.types(first, "tipc bearer list; tipc node list")
	s.types(s.hosts[0], "scored node show host1")
	s.exchange(first)

	if err := rebooted.Reboot(t.Context()); err != nil {
		t.Fatal(err)
	}
	first.awaitUp(s.hosts...)
	s.reached(first)
	s.exchange(first)

	for _, h := range s.hosts {
		h.must("systemctl disable --now score-tipc@" + tipcDevice)
	}
	first.await("scored node show " + first.name + " | grep 'note *TIPC has no bearer, .*systemctl enable --now score-tipc@'")
	first.must("journalctl -u score-agent | grep 'warn.*TIPC has no bearer'")
	if out, ok := first.try("scrun -N 2 -n 2 " + packagesDir + "/exchange -for 2s"); ok || !strings.Contains(out, "TIPC has no bearer") {
		t.Errorf("messages by TIPC without a bearer: %s", out)
	}
	for _, h := range s.hosts {
		s.link(h, "udp")
	}
	s.allWell(first)
}

// reached waits until all hosts reach each other by TIPC.
func (s *site) reached(first *host) {
	s.t.Helper()
	first.await("[ $(tipc node list | grep -c ' up$') = 2 ]")
	for _, h := range s.hosts {
		first.await("scored node show " + h.name + " | grep 'tipc .* by eth:" + tipcDevice + "'")
	}
}

// exchangeTries is how often the program may fail since a host stood still for ten seconds, for
// which its ranks are taken for dead.
const exchangeTries = 3

// exchange runs a program that sends messages between all hosts.
func (s *site) exchange(h *host) {
	s.t.Helper()
	for range exchangeTries {
		out, ok := h.try("scrun -N 3 -n 3 " + packagesDir + "/exchange -for 2s")
		switch {
		case ok && strings.Contains(out, "every message is right"):
			return
		case !strings.Contains(out, " died"):
			s.t.Fatalf("messages by TIPC: %s", out)
		}
	}
	s.t.Errorf("in each of %d runs a rank was taken for dead", exchangeTries)
}

// link sets what carries the messages of channels. It waits until the disk has the file: a later
// test cuts the power.
func (s *site) link(h *host, kind string) {
	s.t.Helper()
	h.must(`sed -i 's/^#*link = .*/link = "` + kind + `"/' /etc/score/score.toml && sync -f /etc/score/score.toml`)
	s.types(h, "systemctl restart score-agent")
}
