package hosts

import (
	"strings"
	"testing"
)

const (
	// state is a server's data directory.
	state = "/var/lib/score"
	// small is the image of a file system for the state.
	small = "/var/tmp/small"
	// smallDisk, in MiB, is room for the state and little more.
	smallDisk = "24"
	// acknowledged jobs are submitted while the disk is full.
	acknowledged = 10
)

// disk fills the disk of the state of the server that leads. Another one leads, nothing that was
// acknowledged is lost, and the server comes back by itself when there is room.
func (s *site) disk(t *testing.T) {
	h, other := s.leader(s.hosts[0])
	h.must(`systemctl stop score-server
mke2fs -q -t ext4 -d ` + state + ` ` + small + ` ` + smallDisk + `M
mount -o loop ` + small + ` ` + state + `
systemctl start score-server`)
	s.lead(h)
	_, release := s.held(other, "-N 3 -n 3")
	h.must("while dd if=/dev/zero bs=4k count=64 2>/dev/null >>" + state + "/full; do :; done; true")
	var jobs []string
	for range acknowledged {
		jobs = append(jobs, other.must(`scrun -d -o /tmp/out -n 1 sh -c 'echo $SCORE_JOB_ID >>/var/tmp/ran'`))
	}
	leader, _ := s.leader(other)
	if leader == h {
		t.Error("the server with the full disk leads")
	}
	h.await("[ $(systemctl show -p NRestarts --value score-server) -gt 0 ]")
	h.must("journalctl -u score-server -p err | grep -q 'there is no space left'")
	// A user there has an answer, of another server or in words.
	if out, ok := h.try("timeout 30 scrun -n 1 echo hello"); ok != (out == "hello") || !ok && !strings.Contains(out, "scrun: ") {
		t.Errorf("a user of the host got %q", out)
	}
	h.must("rm " + state + "/full")
	other.await("[ $(scored server list | grep -c healthy) = 3 ]")
	release()
	s.lead(h)
	for _, job := range jobs {
		h.must("scored job wait " + job)
	}
	s.ranAll(jobs)
	s.readOnlyDisk(h, other)
	h.must(`systemctl stop score-server && cp -a ` + state + ` /var/tmp/state && umount ` + state + `
rm -r ` + state + `/* && cp -a /var/tmp/state/. ` + state + ` && rm -r ` + small + ` /var/tmp/state
systemctl start score-server`)
	other.await("[ $(scored server list | grep -c healthy) = 3 ]")
}

// readOnlyDisk has the kernel find an error in the file system of the state of the server that
// leads, as it does of a disk that fails. Another one leads, and the server comes back after the
// repair.
func (s *site) readOnlyDisk(h, other *host) {
	s.t.Helper()
	h.must("mount -o remount,errors=remount-ro " + state + ` && device=$(findmnt --noheadings --output SOURCE ` + state + `) &&
echo tried >/sys/fs/ext4/${device#/dev/}/trigger_fs_error`)
	job := other.must(`scrun -d -o /tmp/out -n 1 sh -c 'echo $SCORE_JOB_ID >>/var/tmp/ran'`)
	if leader, _ := s.leader(other); leader == h {
		s.t.Error("the server with the read-only disk leads")
	}
	h.await("journalctl -u score-server -p err | grep 'is read-only; see the kernel'")
	h.must(`systemctl stop score-server && umount ` + state + ` && { e2fsck -fp ` + small + ` || [ $? = 1 ]; } &&
mount -o loop ` + small + ` ` + state + ` && systemctl start score-server`)
	other.await("[ $(scored server list | grep -c healthy) = 3 ]")
	s.lead(h)
	h.must("scored job wait " + job)
	s.ranAll([]string{job})
}

// lead makes the server of this host lead: the third one is away while the leader steps down.
func (s *site) lead(h *host) {
	s.t.Helper()
	leader, _ := s.leader(h)
	if leader == h {
		return
	}
	for _, third := range s.hosts[:servers] {
		if third != h && third != leader {
			third.must("systemctl stop score-server")
			defer third.must("systemctl start score-server")
		}
	}
	h.await("scored server list | grep -E '^" + h.name + " .* leader ' || { scored server step-down; exit 1; }")
}

// ranAll fails unless each job has run exactly once, on any host.
func (s *site) ranAll(jobs []string) {
	s.t.Helper()
	times := map[string]int{}
	for _, h := range s.hosts {
		for _, job := range strings.Fields(h.must("cat /var/tmp/ran || true")) {
			times[job]++
		}
	}
	for _, job := range jobs {
		if times[job] != 1 {
			s.t.Errorf("job %s has run %d times", job, times[job])
		}
	}
}
