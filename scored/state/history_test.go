package state

import (
	"bytes"
	"score/scored/api/protocol"
	"score/scored/api/scorev1"
	"score/scored/state/statepb"
	"slices"
	"strings"
	"testing"
)

// checkHistories checks what is derived from the finished jobs.
func checkHistories(t fataler, s *State) {
	t.Helper()
	sum := 0
	left := make(map[uint32][]JobID)
	size := make(map[uint32]int)
	for _, job := range s.Finished() {
		sum += job.bytes
		uid := job.User.GetUid()
		left[uid] = append(left[uid], job.ID)
		size[uid] += job.bytes
	}
	if sum != s.finishedBytes || len(left) != len(s.histories) {
		t.Fatalf("finished jobs of %d users in %d bytes, counted %d and %d", len(left), sum, len(s.histories), s.finishedBytes)
	}
	for uid, history := range s.histories {
		if !slices.Equal(history.jobs, left[uid]) || history.bytes != size[uid] {
			t.Fatalf("user %d has %v, %d bytes; counted %+v", uid, left[uid], size[uid], history)
		}
	}
}

// ended submits and ends a job of a user with an argument of so many bytes.
func ended(id JobID, uid uint32, argument int) []*statepb.Command {
	c := submit(id, 1)
	c.GetSubmit().User = &scorev1.Identity{Uid: uid}
	c.GetSubmit().Spec.Argv = []string{strings.Repeat("x", argument)}
	return []*statepb.Command{c, end(id)}
}

// A user whose jobs end by the thousands loses the oldest of them, and nobody else does. In the
// first protocol the oldest of all are lost, as earlier servers do.
func TestUsersShareTheHistory(t *testing.T) {
	const ada, eve = 1, 2
	for version, want := range map[uint32]JobID{protocol.First: DefaultFinished + 1, protocol.HistoryShares: 1} {
		s := New()
		if version > protocol.First {
			mustApply(t, s, raise(version))
		}
		mustApply(t, s, ended(1, ada, 1)...)
		for id := JobID(2); id <= 2*DefaultFinished; id++ {
			mustApply(t, s, ended(id, eve, 1)...)
		}
		jobs := s.Finished()
		if len(jobs) != DefaultFinished || jobs[0].ID != want || jobs[len(jobs)-1].ID != 2*DefaultFinished {
			t.Errorf("protocol %d: %d jobs, from %d to %d", version, len(jobs), jobs[0].ID, jobs[len(jobs)-1].ID)
		}
		before := image(t, s)
		if err := s.Apply(entry(s.Nanos(), append(ended(s.NextJob(), eve, 1), end(1))...)); err == nil || !bytes.Equal(image(t, s), before) {
			t.Errorf("protocol %d: taking back an end changed the state", version)
		}
		checkHistories(t, s)
		again, err := Restore(image(t, s))
		if err != nil {
			t.Fatal(err)
		}
		mustApply(t, s, ended(s.NextJob(), eve, 1)...)
		mustApply(t, again, ended(again.NextJob(), eve, 1)...)
		if !bytes.Equal(image(t, s), image(t, again)) {
			t.Errorf("protocol %d: a restored server forgets other jobs", version)
		}
	}
}

// Finished jobs with long command lines take so many bytes together; those of the user who has most
// are forgotten.
func TestBytesOfFinishedJobs(t *testing.T) {
	const ada, eve, large = 1, 2, maxKeptArguments - argumentCost
	s := New()
	mustApply(t, s, raise(protocol.HistoryShares), history(MaxFinished))
	mustApply(t, s, ended(1, ada, large)...)
	for s.NextJob() <= 2+maxFinishedBytes/large {
		mustApply(t, s, ended(s.NextJob(), eve, large)...)
	}
	if jobs := s.Finished(); s.finishedBytes > maxFinishedBytes || s.finishedBytes < maxFinishedBytes-2*large || s.Job(1) == nil || s.Job(2) != nil {
		t.Errorf("%d jobs in %d bytes", len(jobs), s.finishedBytes)
	}
	checkHistories(t, s)
}
