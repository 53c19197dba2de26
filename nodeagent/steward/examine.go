package steward

import (
	"score/nodeagent/steward/stewardpb"
	"score/nodeagent/wakesource"
)

// examine finds out what could wake the job's processes. It reads their memory, where a process can
// map a file of a file system that never answers: so a helper does it, in the steward, which waits
// for no other job. Until it has answered there is no second one.
func (s *steward) examine(question *stewardpb.Examine) {
	if s.job == nil || s.job.container == nil || s.examining {
		return
	}
	s.examining = true
	container := s.job.container
	own := wakesource.Own{Images: setOf(question.GetImages()), Sockets: setOf(question.GetSockets())}
	s.help(func() {
		source := "its processes cannot be listed"
		if pids, err := container.Pids(nil); err == nil && len(pids) > 0 {
			source = wakesource.Find(pids, own)
		}
		s.loop.Post(func() {
			s.examining = false
			s.send(&stewardpb.FromSteward{Message: &stewardpb.FromSteward_Examined{
				Examined: &stewardpb.Examined{Request: question.GetRequest(), WakeSource: source},
			}})
		})
	})
}

func setOf(inodes []uint64) map[uint64]bool {
	set := make(map[uint64]bool, len(inodes))
	for _, inode := range inodes {
		set[inode] = true
	}
	return set
}
