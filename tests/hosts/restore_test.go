package hosts

import "testing"

// restore loses the state of all servers, and one host's configuration, and makes the cluster again
// from what docs/administering.md says is to be kept; then it loses all servers but one. A job that
// is running goes on.
func (s *site) restore(t *testing.T) {
	first := s.hosts[0]
	job, release := s.held(first, "-N 3 -n 3")
	s.types(first, "scored snapshot save lab.snapshot")
	s.types(first, "scored snapshot show lab.snapshot")
	s.types(first, "tar -C / -czf host1.tar.gz etc/score")
	later := first.must("scrun -d -o /tmp/out -N 1 -n 1 sleep 1000")
	first.await("scored job list | grep -E '^" + later + " .*running'")
	for _, h := range s.hosts {
		h.must("systemctl stop score-server && rm -r " + state + "/*")
	}
	first.must("rm -r /etc/score/*")

	s.types(first, "tar -C / -xzf host1.tar.gz")
	s.types(first, "scored snapshot restore lab.snapshot")
	s.types(first, "systemctl start score-server")
	s.joinAgain(first)
	first.must("scored job list | grep -E '^" + job + " .*running'")
	if out, ok := first.try("scored job list | grep '^" + later + " '"); ok {
		t.Errorf("the job after the snapshot is known: %s", out)
	}
	for _, h := range s.hosts { // its ranks are nobody's
		h.await("! pgrep -fx 'sleep 1000'")
	}

	for _, h := range s.hosts[1:] { // for good
		h.must("systemctl kill --signal KILL score-server; systemctl stop score-server")
	}
	s.types(first, "systemctl stop score-server")
	const recover = "scored server recover"
	out, ok := first.try(recover)
	if ok {
		t.Errorf("a server has recovered without --yes: %s", out)
	}
	s.note(recover)
	s.shows(recover, out)
	s.types(first, "scored server recover --yes")
	s.types(first, "systemctl start score-server")
	s.joinAgain(first)
	first.must("scored job list | grep -E '^" + job + " .*running'")
	release()
	first.must("rm /root/lab.snapshot /root/host1.tar.gz")
}

// joinAgain lets all servers but the first join without what they had.
func (s *site) joinAgain(first *host) {
	s.t.Helper()
	for _, h := range s.hosts[1:] {
		s.typesAs(first, "ssh host2 systemctl stop score-server", h.name)
		s.serverJoins(first, h)
	}
	s.allWell(first)
}

// serverJoins lets the server of a host join without what it had.
func (s *site) serverJoins(other, h *host) {
	s.t.Helper()
	s.typesAs(other, "ssh host2 rm -rf /var/lib/score /etc/score/certificates/server-host2", h.name)
	s.typesAs(other, "scored token create --role server | ssh host2 scored join -", h.name)
	s.typesAs(other, "ssh host2 systemctl start score-server", h.name)
}
