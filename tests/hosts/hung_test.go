package hosts

import (
	"strings"
	"testing"
	"time"
)

// hungFor is for how long an agent is stopped: a little less than the watchdog waits.
const hungFor = 25 * time.Second

// hung stops the agent of a host under jobs that take turns. They go on afterwards if the node may
// be silent for so long. If not they are lost, and the service manager starts another agent, which
// ends their ranks. Jobs on the other hosts go on meanwhile.
func (s *site) hung(*testing.T) {
	leader, h := s.leader(s.hosts[0])
	elsewhere := leader.must("scrun -d -o /tmp/out -N 2 -n 2 -w " + strings.Join(s.namesBut(h), ",") + " sleep 2000")
	s.hangsBriefly(leader, h, elsewhere)
	s.hangsForGood(leader, h, elsewhere)
	leader.must("scored job cancel " + elsewhere)
}

func (s *site) hangsBriefly(leader, h *host, elsewhere string) {
	s.t.Helper()
	leader.await("scored config set node_silence 60s")
	one, release := s.held(leader, "-N 3 -n 3")
	two, releaseTwo := s.held(leader, "-N 3 -n 3")
	s.takeTurns(leader, one, two)
	h.must("systemctl kill --kill-who=main --signal=STOP score-agent")
	stopped := time.NewTimer(hungFor)
	s.goOnWithout(leader, h, elsewhere)
	s.takeTurns(leader, elsewhere)
	<-stopped.C
	h.must("systemctl kill --kill-who=main --signal=CONT score-agent")
	leader.awaitUp(s.hosts...)
	s.takeTurns(leader, one, two)
	release()
	releaseTwo()
	leader.await("scored config set node_silence 3s")
}

func (s *site) hangsForGood(leader, h *host, elsewhere string) {
	s.t.Helper()
	const (
		spin     = "scrun -d -o /tmp/out -N 3 -n 3 sleep 1000"
		restarts = "systemctl show -p NRestarts --value score-agent"
	)
	lost := []string{leader.must(spin), leader.must(spin)}
	s.takeTurns(leader, lost...)
	before := h.must(restarts)
	h.must("systemctl kill --kill-who=main --signal=STOP score-agent")
	for _, job := range lost {
		leader.await("scored history | grep -E '^" + job + " .*node lost'")
	}
	s.goOnWithout(leader, h, elsewhere)
	h.await("[ $(" + restarts + ") = $((" + before + " + 1)) ] && systemctl is-active score-agent")
	h.must("journalctl -u score-agent | grep 'Watchdog timeout'")
	s.allWell(leader)
	for _, other := range s.hosts {
		other.await("! pgrep -fx 'sleep 1000'")
	}
	if out := h.must("find /sys/fs/cgroup -name cgroup.freeze -exec grep -lx 1 {} +; true"); out != "" {
		s.t.Errorf("%s: what is left is frozen: %s", h.name, out)
	}
	if got := h.must("scrun -N 3 -n 3 hostname | sort | xargs"); got != "host1 host2 host3" {
		s.t.Errorf("after the hang a job has run on %s", got)
	}
}

// goOnWithout fails unless users see that a node is silent, while the others run what is there, and
// what is new.
func (s *site) goOnWithout(leader, h *host, elsewhere string) {
	s.t.Helper()
	leader.await("scored node list | grep -E '^" + h.name + " +(silent|lost|down) '")
	leader.must("scored job list | grep -E '^" + elsewhere + " .*running'")
	if got := leader.must("scrun -N 2 -n 2 -w " + strings.Join(s.namesBut(h), ",") + " echo hello"); got != "hello\nhello" {
		s.t.Errorf("a job on the other hosts wrote %q", got)
	}
}

// takeTurns waits until each of these jobs has had more slices.
func (s *site) takeTurns(h *host, jobs ...string) {
	s.t.Helper()
	for _, job := range jobs {
		slices := "scored job list | awk '$1 == " + job + " {print $(NF-1)}'"
		h.await("[ $(" + slices + ") -gt 0 ]")
		h.await("[ $(" + slices + ") -gt " + h.must(slices) + " ]")
	}
}

// namesBut returns the names of all hosts but one.
func (s *site) namesBut(h *host) (names []string) {
	for _, other := range s.hosts {
		if other != h {
			names = append(names, other.name)
		}
	}
	return names
}
