package steward

import (
	"os"
	"score/nodeagent/ancestry"
	"score/nodeagent/pmi/pmix"
	"score/nodeagent/sockowner"
	"slices"
	"strconv"
)

// admitPMIx decides whether a client is the rank that it claims to be. The protocol's own
// credential proves nothing; the kernel knows the owner of the socket, which must belong to this
// job.
func (s *steward) admitPMIx(id pmix.ConnID, rank int) {
	if c := s.job.pmix.conns[id]; c != nil {
		s.applyPMIx(s.job.pmix.server.Admit(id, s.ownsSocket(c.owner, rank)))
	}
}

// finishAdmission does the work that can wait until an admitted client has its answer, but not
// until its next message.
func (s *steward) finishAdmission() {
	s.makeSession()
	s.loop.Expect()
}

// ownsSocket reports whether a socket of the job's user belongs to the job: it was made in the
// job's control group, or a process of the job holds it. Without a control group it may be that of
// a process which shows nobody what it holds.
func (s *steward) ownsSocket(owner sockowner.Owner, rank int) bool {
	group := s.groupID()
	if owner.Group != 0 && owner.Group == group {
		return true
	}
	k := s.job.index(rank)
	if p := s.job.ranks[k].process; p != nil && sockowner.Holds(p.Pid, owner.Inode) {
		return true
	}
	// It is a descendant of the rank, or the rank is so new that its pid is not
	// known yet. This case is rare, so it may check every process.
	processes := s.jobProcesses()
	if slices.ContainsFunc(processes, func(pid int) bool { return sockowner.Holds(pid, owner.Inode) }) {
		return true
	}
	return group == 0 && slices.ContainsFunc(processes, sockowner.Hides)
}

// groupID returns the number of the job's control group, 0 without one.
func (s *steward) groupID() uint64 {
	if s.group == nil || s.job.container != s.group {
		return 0
	}
	id, err := s.group.ID()
	if err != nil {
		return 0 // then its processes are checked
	}
	return id
}

// uid returns the user that the ranks run as.
func (j *job) uid() int {
	if j.user != nil {
		return int(j.user.UID)
	}
	return os.Geteuid()
}

// jobProcesses lists the processes of the job.
func (s *steward) jobProcesses() []int {
	if s.group != nil && s.job.container == s.group {
		pids, _ := s.group.Pids(nil)
		return pids
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	self := os.Getpid()
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == self {
			continue
		}
		if _, ok := ancestry.ChildOf(pid, func(parent int) bool { return parent == self }); ok {
			pids = append(pids, pid)
		}
	}
	return pids
}
