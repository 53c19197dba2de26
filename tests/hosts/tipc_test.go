package hosts

import (
	"strings"
	"testing"
)

// tipc has channels go between the hosts by TIPC, as the page says, and then by UDP again.
func (s *site) tipc(*testing.T) {
	first := s.hosts[0]
	const enable = "modprobe tipc && tipc bearer enable media eth device eth0"
	for _, h := range s.hosts {
		s.note(enable)
		s.shows(enable, s.enter(h, strings.Replace(enable, "eth0", "vec0", 1))) // as guests call it
		h.link("tipc")
	}
	first.await("[ $(tipc node list | grep -c ' up$') = 2 ]")
	s.types(first, "tipc bearer list; tipc node list")
	for _, h := range s.hosts {
		first.await("scored node show " + h.name + " | grep 'tipc .* by eth:vec0'")
	}
	s.types(first, "scored node show host1")
	out := first.must("scrun -N 3 -n 3 " + packagesDir + "/exchange -for 2s")
	if !strings.Contains(out, "every message is right") {
		s.t.Errorf("messages by TIPC: %s", out)
	}
	for _, h := range s.hosts {
		h.link("udp")
		h.must("tipc bearer disable media eth device vec0")
	}
	s.allWell(first)
}

// link sets what carries the messages of channels.
func (h *host) link(kind string) {
	h.t.Helper()
	h.must(`sed -i 's/^#*link = .*/link = "` + kind + `"/' /etc/score/score.toml && systemctl restart score-agent`)
}
