package leader

import (
	"errors"
	"score/scored/api/protocol"
	"score/scored/api/scorev1"
	"testing"
	"time"
)

// TestFirstProtocol: a log that servers of an earlier version read contains nothing new, and users
// get an error for what cannot be done yet. The world fails on a command that is not in the log's
// protocol.
func TestFirstProtocol(t *testing.T) {
	w := newWorldIn(t, protocol.First)
	w.connect(hello("n1", 2))
	submit := func(key Key) (refusal error) {
		w.b.submitOnce(key, jobSpec(2), &scorev1.Identity{Uid: 7}, Caller{UID: 7}, func(_ uint64, err error) { refusal = err })
		w.settle()
		return refusal
	}
	if err := submit(keyFor("k")); err != nil {
		t.Error(err)
	}
	if got := w.log.Submitted(7, keyFor("k").Key); got != nil || len(w.log.Jobs()) != 1 {
		t.Errorf("the log has a key: %v", got)
	}
	again := keyFor("k")
	again.Waited = time.Second
	if err := submit(again); !errors.Is(err, ErrState) {
		t.Errorf("made again after a doubt: %v", err)
	}
	for name, change := range map[string]func(*scorev1.JobSpec){
		"recover": func(s *scorev1.JobSpec) { s.Recover = true },
		"respawn": func(s *scorev1.JobSpec) { s.Respawn = 1 },
		"hold":    func(s *scorev1.JobSpec) { s.Hold = true },
		"after":   func(s *scorev1.JobSpec) { s.Dependencies = []*scorev1.Dependency{{Kind: after, JobIds: []uint64{1}}} },
		"exclude": func(s *scorev1.JobSpec) { s.ExcludeList = []string{"n1"} },
	} {
		spec := jobSpec(1)
		change(spec)
		if _, err := w.submit(spec); !errors.Is(err, ErrState) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := w.b.hold(w.b.jobs[1], &scorev1.Hold{By: "ada"}); !errors.Is(err, ErrState) {
		t.Errorf("held: %v", err)
	}
	w.receive("n1", prepared(1))
	w.receive("n1", launched(1, w.b.now))
	if err := w.b.requeueFor(w.b.jobs[1], "ada", ""); !errors.Is(err, ErrState) {
		t.Errorf("requeued: %v", err)
	}
	w.kill(1)
	w.receive("n1", nodeDone(1))
	if got := w.log.Job(1).Verdict.GetReason(); got != cancelled {
		t.Errorf("it ended as %v", got)
	}

	// Once all servers understand it, it can be said. What was submitted before may have been so
	// under any key.
	w.b.raiseProtocol(protocol.Keys)
	w.settle()
	if err := submit(again); !errors.Is(err, ErrState) {
		t.Errorf("made again after the log's protocol was raised: %v", err)
	}
	w.b.now += time.Minute.Nanoseconds()
	if err := submit(again); err != nil {
		t.Errorf("first made after that: %v", err)
	}
}
