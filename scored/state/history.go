package state

import (
	"cmp"
	"score/scored/api/protocol"
	"slices"

	"google.golang.org/protobuf/proto"
)

// maxFinishedBytes bounds the records of all finished jobs: with their arguments and places, these
// may have many times the usual size, about 1 KiB. At that size the longest history fits.
const maxFinishedBytes = 128 << 20

// userHistory is what is remembered of a user's finished jobs. It must not be changed.
type userHistory struct {
	jobs  []JobID // by the time of their ends
	bytes int
}

// keepFinished adds a job to the finished ones, and forgets others if there are too many.
func (s *State) keepFinished(job *Job) {
	before := s.finished
	s.undo = append(s.undo, func() { s.finished = before })
	s.finished = append(s.finished, job.ID)
	s.remember(job)
	s.forgetFinished()
}

// remember counts a finished job for its user.
func (s *State) remember(job *Job) {
	job.bytes = proto.Size(job.proto())
	next := userHistory{jobs: []JobID{job.ID}, bytes: job.bytes}
	if known := s.histories[job.User.GetUid()]; known != nil {
		next.jobs, next.bytes = append(known.jobs, job.ID), known.bytes+job.bytes
	}
	put(s, s.histories, job.User.GetUid(), &next)
	s.addFinishedBytes(job.bytes)
}

func (s *State) addFinishedBytes(bytes int) {
	before := s.finishedBytes
	s.undo = append(s.undo, func() { s.finishedBytes = before })
	s.finishedBytes += bytes
}

// forgetFinished forgets finished jobs while there are too many: the oldest of the user who has
// most, so that no user can make the cluster forget others' jobs. In the first protocol, it is the
// oldest of all.
func (s *State) forgetFinished() {
	limit := FinishedOf(s.settings)
	for len(s.finished) > limit {
		s.forget(s.mostFinished(func(h *userHistory) int { return len(h.jobs) }))
	}
	for s.finishedBytes > maxFinishedBytes && s.protocol >= protocol.HistoryShares {
		s.forget(s.mostFinished(func(h *userHistory) int { return h.bytes }))
	}
}

// mostFinished returns the user of whose finished jobs the oldest is forgotten: the one who has
// most. Of several it is the one whose oldest job ended first.
func (s *State) mostFinished(size func(*userHistory) int) (uid uint32) {
	if s.protocol < protocol.HistoryShares {
		return s.jobs[s.finished[0]].User.GetUid()
	}
	var most *Job
	n := 0
	for user, history := range s.histories { // any order: no two users have the same oldest job
		oldest := s.jobs[history.jobs[0]]
		if most == nil || cmp.Or(cmp.Compare(size(history), n), -compareEnds(oldest, most)) > 0 {
			most, n, uid = oldest, size(history), user
		}
	}
	return uid
}

// compareEnds compares the ends of two jobs. Of one entry the job with the lower number is first.
func compareEnds(a, b *Job) int {
	return cmp.Or(cmp.Compare(a.Ended, b.Ended), cmp.Compare(a.ID, b.ID))
}

// forget forgets the oldest finished job of a user.
func (s *State) forget(uid uint32) {
	known, before := s.histories[uid], s.finished
	job := s.jobs[known.jobs[0]]
	s.undo = append(s.undo, func() { s.finished = before })
	if at := s.finishedAt(job); at == 0 {
		s.finished = before[1:]
	} else {
		s.finished = slices.Concat(before[:at], before[at+1:]) // images have the former
	}
	var next *userHistory
	if len(known.jobs) > 1 {
		next = &userHistory{jobs: known.jobs[1:], bytes: known.bytes - job.bytes}
	}
	put(s, s.histories, uid, next)
	put(s, s.jobs, job.ID, nil)
	s.addFinishedBytes(-job.bytes)
}

// finishedAt returns where a job is among the finished ones.
func (s *State) finishedAt(job *Job) int {
	first, _ := slices.BinarySearchFunc(s.finished, job.Ended, func(id JobID, ended int64) int {
		return cmp.Compare(s.jobs[id].Ended, ended)
	})
	return first + slices.Index(s.finished[first:], job.ID)
}
