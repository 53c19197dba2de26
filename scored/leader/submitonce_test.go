package leader

import (
	"errors"
	"score/scored/api/scorev1"
	"score/scored/state"
	"testing"
	"time"
)

func (w *world) submitOnce(key Key, spec *scorev1.JobSpec) (err error) {
	w.t.Helper()
	w.b.submitOnce(key, spec, &scorev1.Identity{Uid: 7, User: "u"}, Caller{UID: 7}, func(_ uint64, e error) { err = e })
	return err
}

func keyFor(text string) (k Key) {
	copy(k.Key[:], text)
	copy(k.Digest[:], text)
	return k
}

// A repeated submission is one job: before its entry is committed, after that, under another
// leader, and after the job's end.
func TestSubmissionsMadeAgain(t *testing.T) {
	w := newWorld(t)
	w.connect(hello("n1", 2))
	key := keyFor("k")
	var ids []uint64
	again := func() {
		w.b.submitOnce(key, jobSpec(1), &scorev1.Identity{Uid: 7}, Caller{UID: 7}, func(id uint64, err error) {
			if err != nil {
				t.Error(err)
			}
			ids = append(ids, id)
		})
		key.Waited += time.Second
	}
	again()
	again() // before anything is committed
	w.settle()
	again()
	w.settle()
	w.restart()
	again()
	w.settle()
	w.kill(1)
	again()
	w.settle()
	for _, id := range ids {
		if id != 1 {
			t.Errorf("answers %v", ids)
		}
	}
	if len(ids) != 5 || len(w.log.Jobs()) != 1 || len(w.b.entered) != 0 {
		t.Errorf("answers %v, %d jobs, %d keys not committed", ids, len(w.log.Jobs()), len(w.b.entered))
	}
}

// An entry that was reported as lost and was committed all the same is not decided again; a lost
// one is.
func TestSubmissionsMadeAgainAfterADoubt(t *testing.T) {
	for name, what := range map[string]failing{"lost": entryLost, "committed": outcomeUnknown} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.connect(hello("n1", 2))
			w.failing = what
			answered := error(nil)
			w.b.submitOnce(keyFor("k"), jobSpec(1), &scorev1.Identity{Uid: 7}, Caller{UID: 7}, func(_ uint64, err error) { answered = err })
			w.settle()
			if !errors.Is(answered, ErrLost) {
				t.Fatal(answered)
			}
			key := keyFor("k")
			key.Waited = time.Second
			id := uint64(0)
			w.b.submitOnce(key, jobSpec(1), &scorev1.Identity{Uid: 7}, Caller{UID: 7}, func(i uint64, err error) { id, answered = i, err })
			w.settle()
			if answered != nil || id != 1 || len(w.log.Jobs()) != 1 {
				t.Errorf("job %d, %v, %d jobs", id, answered, len(w.log.Jobs()))
			}
		})
	}
}

// A key belongs to one user and one content. A key that may have been forgotten is not taken for
// new.
func TestKeysThatAreRefused(t *testing.T) {
	w := newWorld(t)
	w.connect(hello("n1", 2))
	_ = w.submitOnce(keyFor("k"), jobSpec(1))
	w.settle()
	other := keyFor("k")
	other.Digest[0]++
	if err := w.submitOnce(other, jobSpec(2)); err != nil {
		t.Error("a refusal before what it comes from is committed")
	}
	var refused error
	w.b.submitOnce(other, jobSpec(2), &scorev1.Identity{Uid: 7}, Caller{UID: 7}, func(_ uint64, err error) { refused = err })
	w.settle()
	if !errors.Is(refused, ErrInvalid) {
		t.Errorf("another job under the same key: %v", refused)
	}
	w.b.submitOnce(other, jobSpec(2), &scorev1.Identity{Uid: 8}, Caller{UID: 8}, func(_ uint64, err error) { refused = err })
	w.settle()
	if refused != nil {
		t.Errorf("another user's key is in the way: %v", refused)
	}
	w.log.Resume(w.b.now)
	w.b.nextJob += state.JobLeap
	for _, test := range []struct {
		waited time.Duration
		want   error
	}{{0, nil}, {time.Second, ErrState}} {
		key := keyFor("another" + test.waited.String())
		key.Waited = test.waited
		w.b.submitOnce(key, jobSpec(1), &scorev1.Identity{Uid: 7}, Caller{UID: 7}, func(_ uint64, err error) { refused = err })
		w.settle()
		if !errors.Is(refused, test.want) {
			t.Errorf("first made %v ago: %v", test.waited, refused)
		}
	}
}

// A client that submits again is there: from then on the job waits for its owner.
func TestOwnerWhoAsksAgain(t *testing.T) {
	w := newWorld(t)
	w.connect(hello("n1", 2))
	spec := jobSpec(1)
	spec.Detached = false
	_ = w.submitOnce(keyFor("k"), spec)
	w.settle()
	for range 3 {
		w.advance(OwnerGrace * 2 / 3)
		_ = w.submitOnce(keyFor("k"), spec)
		w.settle()
	}
	if j := w.b.jobs[1]; j == nil || j.state == ending || j.state == done {
		t.Errorf("the job was ended: %+v", j)
	}
}
