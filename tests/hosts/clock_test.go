package hosts

import (
	"strconv"
	"testing"
	"time"
)

const (
	// clockOff is by how much a clock is ahead.
	clockOff = 10 * time.Minute
	// clockBehind is by how much it is behind: it is before the beginning of the cluster's
	// certificates.
	clockBehind = 2 * time.Hour
)

// clock boots a host with a clock that is ahead, lets its server lead, and sets the clock under a
// job; then it boots the host with a clock that is behind.
func (s *site) clock(t *testing.T) {
	s.stepped()
	other, h := s.leader(s.hosts[0])
	s.bootAt(h, clockOff)
	other.awaitUp(s.hosts...)
	s.lead(h)
	_, release := s.held(other, "-N 3 -n 3")
	h.must("date -s '-10 minutes'")
	job := other.must(`scrun -d -o /tmp/out -n 1 sh -c 'echo $SCORE_JOB_ID >>/var/tmp/ran'`)
	other.must("scored job wait " + job)
	s.ranAll([]string{job})
	s.allWell(other)
	release()

	s.bootAt(h, -clockBehind)
	for _, unit := range []string{"score-server", "score-agent"} { // certificates of the cluster begin later
		h.await("journalctl -b -u " + unit + " | grep 'by this host.s clock .*; set the clock'")
	}
	if got := other.must("scrun -N 2 -n 2 echo hello"); got != "hello\nhello" {
		t.Errorf("a job on the other hosts wrote %q", got)
	}
	h.must("date -s '+2 hours'")
	s.allWell(other)
	_, release = s.held(h, "-N 3 -n 3")
	release()
}

// stepped steps the clocks of a follower and of the leader while two jobs take turns, which go on.
func (s *site) stepped() {
	s.t.Helper()
	leader, h := s.leader(s.hosts[0])
	one, release := s.held(leader, "-N 3 -n 3")
	two, releaseTwo := s.held(leader, "-N 3 -n 3")
	for _, other := range []*host{h, leader} {
		for _, by := range []string{"+1 hour", "-2 hours", "+1 hour"} {
			other.must("date -s '" + by + "'")
			s.takeTurns(leader, one, two)
		}
	}
	release()
	releaseTwo()
	s.allWell(leader)
}

// bootAt boots a host with a clock that is ahead.
func (s *site) bootAt(h *host, ahead time.Duration) {
	s.t.Helper()
	if err := h.PowerOff(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	h.ClockOffset = ahead
	err := h.Boot(s.t.Context())
	h.ClockOffset = 0
	if err != nil {
		s.t.Fatal(err)
	}
	h.awaitBooted()
	at, err := strconv.ParseInt(h.must("date +%s"), 10, 64)
	if got := time.Until(time.Unix(at, 0)); err != nil || (got-ahead).Abs() > clockOff/2 {
		s.t.Fatalf("the clock of %s is %v ahead, not %v: %v", h.name, got, ahead, err)
	}
}

// allWell waits until all servers are healthy and all nodes up, as the commands on h show.
func (s *site) allWell(h *host) {
	s.t.Helper()
	h.await("[ $(scored server list | grep -c healthy) = 3 ]")
	h.awaitUp(s.hosts...)
}
