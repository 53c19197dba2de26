package steward

import (
	"os"
	"slices"
	"strconv"

	"score/nodeagent/lineage"
	"score/nodeagent/pmi/pmix"
	"score/nodeagent/sockowner"
)

// admitPMIx decides whether a client is who it says: the protocol's own proof is
// the client's word. The kernel knows whose the socket is; it must be held by a
// process of this job.
func (s *steward) admitPMIx(id pmix.ConnID, rank int) {
	c := s.job.pmix.conns[id]
	if c == nil {
		return
	}
	ok := s.ownsSocket(c.fd, rank)
	if ok {
		if err := s.job.pmix.dirs.makeSession(s.job); err != nil {
			s.note("files of MPI programs may be left behind: " + err.Error())
		}
	}
	s.obeyPMIx(s.job.pmix.server.Admit(id, ok))
}

func (s *steward) ownsSocket(fd, rank int) bool {
	owner, err := sockowner.Of(fd)
	if err != nil || int(owner.UID) != s.job.uid() {
		return false
	}
	k := s.job.local[uint32(rank)]
	if p := s.job.ranks[k].process; p != nil && sockowner.Holds(p.Pid, owner.Inode) {
		return true
	}
	// A descendant of the rank, or the rank is so new that its number is on its
	// way. This is the rare case, so it may look at every process.
	return slices.ContainsFunc(s.jobProcesses(), func(pid int) bool { return sockowner.Holds(pid, owner.Inode) })
}

// uid is the user that the ranks run as.
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
		if _, ok := lineage.ChildOf(pid, func(parent int) bool { return parent == self }); ok {
			pids = append(pids, pid)
		}
	}
	return pids
}
