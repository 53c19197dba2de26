package hosts

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// cut is a cable that is pulled.
type cut struct {
	length  time.Duration // at least; it also lasts until the job is lost, if it is to be
	silence string        // how long a node may be silent before it is lost
	borne   bool          // a job on the host goes on
	leads   bool          // the host's server leads
	long    bool          // not in the short form
}

// cuts are shorter and longer than the silence that a cluster begins with, and than the ten seconds
// for which a user's call waits for a leader.
var cuts = []cut{
	{time.Second, "3s", true, false, false},
	{5 * time.Second, "3s", false, false, false},
	{5 * time.Second, "30s", true, false, true},
	{time.Minute, "3s", false, false, true},
	{10 * time.Second, "60s", true, true, true},
	{30 * time.Second, "3s", false, true, true},
}

// cable pulls the cable of a follower, or of the leader, under jobs.
func (s *site) cable(t *testing.T) {
	for _, c := range cuts {
		if c.long && !*all {
			continue
		}
		name := fmt.Sprintf("%v of %s", c.length, c.silence)
		if c.leads {
			name += " of the leader"
		}
		t.Run(name, func(t *testing.T) {
			s.in(t)
			s.pull(c)
		})
	}
	s.in(t)
}

// submissions returns the number of jobs that are submitted during a cut. They take seconds, for
// which a short cut would last.
func submissions(c cut) int {
	if c.long {
		return acknowledged
	}
	return 0
}

func (s *site) pull(c cut) {
	leader, h := s.leader(s.hosts[0])
	if c.leads {
		leader, h = h, leader // the other one may lead soon
	}
	leader.await("scored config set node_silence " + c.silence)
	others := strings.Join(s.namesBut(h), ",")
	elsewhere := leader.must("scrun -d -o /tmp/out -N 2 -n 2 -w " + others + " sleep 2000")
	lost, release := "", func() {}
	if c.borne {
		_, release = s.held(leader, "-N 3 -n 3")
	} else {
		lost = leader.must("scrun -d -o /tmp/out -N 3 -n 3 sleep 1000")
		leader.await("scored job list | grep -E '^" + lost + " .*running'")
	}
	var jobs []string
	s.cutOff(h, c.length, func() {
		leader.await("scored user set ann share=123") // acknowledged without the host, or typed again if a leader is lost over it
		for range submissions(c) {
			jobs = append(jobs, leader.must(`scrun -d -o /tmp/out -n 1 -w `+leader.name+` sh -c 'echo $SCORE_JOB_ID >>/var/tmp/ran'`))
		}
		if c.length > 20*time.Second {
			h.refuses()
		}
		if lost != "" { // a new leader counts the silence from its election
			leader.await("scored history | grep -E '^" + lost + " .*node lost'")
		}
	})
	leader.awaitUp(s.hosts...)
	if lost != "" {
		h.await("! pgrep -fx 'sleep 1000'")
	}
	h.await("scored user list | grep '^ann .* 123 '")
	release()
	for _, job := range jobs {
		leader.must("scored job wait " + job)
	}
	s.ranAll(jobs)
	leader.must("scored job list | grep -E '^" + elsewhere + " .*running' && scored job cancel " + elsewhere)
	leader.await("scored config set node_silence 3s && scored user set ann share=100")
	leader.await("[ $(scored server list | grep -c healthy) = 3 ]")
}

// cutOff pulls a host's cable for as long as is tried, and for as long as during takes.
func (s *site) cutOff(h *host, length time.Duration, during func()) {
	h.port.Pull()
	defer h.port.Plug()
	pulled := time.NewTimer(length)
	during()
	<-pulled.C
}

// refuses runs a program on a host without a leader: its user gets a sentence, and can wait or end
// it.
func (h *host) refuses() {
	h.t.Helper()
	if out, ok := h.try("timeout --signal INT 15 scrun -n 1 true"); ok || !strings.Contains(out, "no majority is in contact") {
		h.t.Errorf("%s: a program on a host that was cut off: %s", h.name, out)
	}
}
