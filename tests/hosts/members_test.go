package hosts

import (
	"sync"
	"testing"
)

// remove adds a host while a job runs, cuts its power, drains hosts, and removes the new one, lets
// it join again, and removes it for good. A job on the other hosts goes on.
func (s *site) remove(t *testing.T) {
	first, _ := s.leader(s.hosts[0])
	job := first.must("scrun -d -o /tmp/out -w host1,host2 -N 2 -n 2 sleep 1000")
	first.await("scored job list | grep -E '^" + job + " .*running'")
	s.add(1)
	h := s.hosts[servers]
	defer func() {
		s.hosts = s.hosts[:servers]
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}()
	s.types(first, "scored token create | ssh host4 scored join -")
	s.types(first, "ssh host4 systemctl enable --now score-agent")
	first.awaitUp(h)
	if got := h.must(as("ann", "scrun -N 4 -n 4 echo hello")); got != "hello\nhello\nhello\nhello" {
		t.Errorf("a job on all hosts wrote %q", got)
	}
	s.computePower(first, h)
	s.drain(first)

	s.types(first, "scored node drain host4")
	s.types(first, "scored node remove host4")
	s.ended(h, "score-agent")
	s.types(first, "ssh host4 rm -r /etc/score/certificates/agent-host4")
	s.types(first, "scored token create | ssh host4 scored join -")
	s.types(first, "ssh host4 systemctl restart score-agent")
	first.awaitUp(h)
	if got := h.must(as("ann", "scrun -w host4 -n 1 hostname")); got != "host4" {
		t.Errorf("a job on the host that has joined again wrote %q", got)
	}
	s.types(first, "scored node drain host4")
	s.types(first, "scored node remove host4")
	s.ended(h, "score-agent")
	first.must("scored job list | grep -E '^" + job + " .*running' && scored job cancel " + job)
}

// computePower cuts the power of a host without a server under a job, which is lost. The host comes
// back by itself.
func (s *site) computePower(first, h *host) {
	s.t.Helper()
	lost := first.must("scrun -d -o /tmp/lost.out -w host3,host4 -N 2 -n 2 sleep 2000")
	first.await("scored job list | grep -E '^" + lost + " .*running'")
	if err := h.Kill(); err != nil {
		s.t.Fatal(err)
	}
	first.await("scored history | grep -E '^" + lost + " .*node lost'")
	s.named("host3").await("! pgrep -fx 'sleep 2000'")
	if err := h.Boot(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	first.awaitUp(h)
	if got := h.must(as("ann", "scrun -w host3,host4 -N 2 -n 2 hostname | sort | xargs")); got != "host3 host4" {
		s.t.Errorf("after the power cut a job has run on %q", got)
	}
}

// drain drains a host under a job that has a rank there. The command returns at the job's end, and
// no other job begins there meanwhile.
func (s *site) drain(first *host) {
	s.t.Helper()
	_, release := s.held(first, "-N 4 -n 4")
	var work sync.WaitGroup
	work.Go(func() { s.types(first, `scored node drain host3 --reason "new disk"`) })
	first.await("scored node list | grep -E '^host3 +(drain|draining) '")
	later := first.must("scrun -d -o /tmp/out -N 4 -n 4 true")
	if got := first.must("scrun -N 3 -n 3 hostname | sort | xargs"); got != "host1 host2 host4" {
		s.t.Errorf("with host3 drained, a job has run on %s", got)
	}
	release()
	work.Wait()
	if got := first.must("scored job list | awk '$1 == " + later + "'"); got == "" {
		s.t.Errorf("job %s has run on a host that was drained", later)
	}
	s.types(first, "scored node list -s drained,silent,lost")
	s.types(first, "scored node show host3")
	s.types(first, "scored node resume host3")
	first.must("scored job wait " + later)
}

// replace loses the host whose server leads, and replaces the server by one with nothing of before.
func (s *site) replace(t *testing.T) {
	h, other := s.leader(s.hosts[0])
	if err := h.Kill(); err != nil {
		t.Fatal(err)
	}
	other.await("scored server list | grep ' leader ' | grep -v '^" + h.name + " '")
	s.typesAs(other, "scored server remove host3", h.name)
	if got := other.must("scored server list | awk 'NR > 1 {print $1}' | grep -cx " + h.name + " || true"); got != "0" {
		t.Error("a server that was removed is in the list")
	}
	if err := h.Boot(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.awaitBooted()
	s.ended(h, "score-server")
	s.typesAs(other, "ssh host2 systemctl stop score-server", h.name)
	s.serverJoins(other, h)
	s.allWell(other)
}

// ended waits until the daemon of a host has ended for good.
func (s *site) ended(h *host, unit string) {
	s.t.Helper()
	h.await("[ $(systemctl show -p ExecMainStatus --value " + unit + ") = 78 ] && systemctl is-failed " + unit)
}
