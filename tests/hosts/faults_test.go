package hosts

import (
	"fmt"
	"strings"
	"testing"
)

// held starts a job with a rank on each host, which ends when release is called, and writes its
// number to ran at its end.
func (s *site) held(h *host, options string) (job string, release func()) {
	s.t.Helper()
	job = h.must(`scrun -d -o /tmp/held.out ` + options + ` sh -c 'echo begun; while [ ! -e /tmp/go ]; do sleep 0.05; done; echo $SCORE_JOB_ID >>/var/tmp/ran'`)
	h.await("scored job list | grep -E '^" + job + " .*running'")
	return job, func() {
		s.t.Helper()
		for _, other := range s.hosts {
			other.must("touch /tmp/go")
		}
		h.must("scored job wait " + job)
		for _, other := range s.hosts {
			other.must("rm /tmp/go")
			s.ranOnce(other, job)
		}
	}
}

// ranOnce fails if a rank of a job has run on this host another number of times than once.
func (s *site) ranOnce(h *host, job string) {
	s.t.Helper()
	if got := h.must("grep -cx " + job + " /var/tmp/ran || true"); got != "1" {
		s.t.Errorf("%s: job %s has run %s times", h.name, job, got)
	}
}

// service restarts, reloads and crashes the daemons under a job that runs; one of them hangs.
func (s *site) service(t *testing.T) {
	h := s.hosts[0]
	_, release := s.held(h, "-N 3 -n 3")
	h.must("systemctl restart score-agent score-server && systemctl reload score-agent score-server")
	for _, unit := range []string{"score-agent", "score-server"} {
		// Type=notify: a start returns after the daemon serves.
		if got := h.must("systemctl show -p StatusText --value " + unit); !strings.Contains(got, "of cluster score at") {
			t.Errorf("the status of %s is %q", unit, got)
		}
		restarts := h.must("systemctl show -p NRestarts --value " + unit)
		h.must("systemctl kill --kill-who=main --signal=KILL " + unit)
		h.await(fmt.Sprintf("[ $(systemctl show -p NRestarts --value %s) = $((%s + 1)) ] && systemctl is-active %s", unit, restarts, unit))
		// A daemon that hangs gives no sign of life.
		if got := h.must("systemctl show -p WatchdogUSec --value " + unit); got != "30s" {
			t.Errorf("the watchdog of %s waits %s", unit, got)
		}
	}
	h.must("journalctl -u score-server | grep -q 'server started'")
	s.hosts[1].awaitUp(s.hosts...)
	s.reloads(h)
	if *all {
		s.hangs(h)
	}
	release()
}

// reloads changes the configuration of the daemons of a host. A reload applies what can change; the
// status tells what needs a restart, and what is wrong.
func (s *site) reloads(h *host) {
	s.t.Helper()
	const (
		file   = "/etc/score/score.toml"
		reload = "\nsystemctl reload score-agent score-server"
		status = "systemctl show -p StatusText --value score-agent | grep "
	)
	h.must("cp -p " + file + ` /root/score.toml
sed -i -e 's/^#level = .*/level = "debug"/' -e 's/^#warm_stewards = .*/warm_stewards = 3/' ` + file + reload)
	h.await(status + "'; a restart is needed for agent.warm_stewards$'")
	for _, unit := range []string{"score-agent", "score-server"} {
		h.await("journalctl -n 100 -u " + unit + " | grep 'the configuration was read again.*debug'")
	}
	h.must("echo nonsense >>" + file + reload)
	h.await(status + "'; the configuration has an error: '")
	h.must("mv /root/score.toml " + file + reload)
	h.await("! " + status + "';'")
}

// hangs stops the server of a host. It gives no sign of life, and the service manager starts
// another one.
func (s *site) hangs(h *host) {
	s.t.Helper()
	const restarts = "systemctl show -p NRestarts --value score-server"
	before := h.must(restarts)
	h.must("systemctl kill --kill-who=main --signal=STOP score-server")
	h.await("[ $(" + restarts + ") = $((" + before + " + 1)) ] && systemctl is-active score-server")
	h.must("journalctl -u score-server | grep 'Watchdog timeout'")
	s.allWell(h)
}

// power cuts the power of the host whose server leads, or of another one, while jobs are submitted.
func (s *site) power(t *testing.T, leads bool) {
	victim, follower := s.leader(s.hosts[0])
	if !leads {
		victim = follower
	}
	var other *host
	for _, h := range s.hosts[:servers] {
		if h != victim {
			other = h
		}
	}
	lost := other.must("scrun -d -o /tmp/lost.out -N 3 -n 3 sleep 1000")
	other.await("scored job list | grep -E '^" + lost + " .*running'")
	if err := victim.Kill(); err != nil {
		t.Fatal(err)
	}
	var jobs []string
	for range 5 { // the first waits for the next leader
		jobs = append(jobs, other.must(`scrun -d -o /tmp/out -n 1 sh -c 'echo $SCORE_JOB_ID >>/var/tmp/ran'`))
	}
	other.await("scored history | grep -E '^" + lost + " .*node lost'")
	if err := victim.Boot(t.Context()); err != nil {
		t.Fatal(err)
	}
	other.awaitUp(s.hosts...)
	var ran []string
	for _, h := range s.hosts {
		ran = append(ran, strings.Fields(h.must("cat /var/tmp/ran || true"))...)
	}
	for _, job := range jobs {
		times, ended := 0, other.must("scored job wait "+job+"; scored history | grep '^"+job+" '")
		for _, other := range ran {
			if other == job {
				times++
			}
		}
		// One that was placed on the host before its loss was noticed has run nowhere, and says so.
		if times != 1 && !strings.Contains(ended, "node lost") {
			t.Errorf("job %s has run %d times: %s", job, times, ended)
		}
	}
}

// reboot reboots a host under load, in good order.
func (s *site) reboot(t *testing.T) {
	leader, h := s.leader(s.hosts[0])
	job := leader.must("scrun -d --requeue -o /tmp/out -N 2 -n 2 sleep 1000")
	leader.await("scored job list | grep -E '^" + job + " .*running'")
	if err := h.Reboot(t.Context()); err != nil {
		t.Fatal(err)
	}
	leader.awaitUp(s.hosts...)
	leader.await("scored job list | grep -E '^" + job + " .*running'")
	leader.must("scored job cancel " + job)
}
