package state

import (
	"bytes"
	"errors"
	"score/scored/state/statepb"
	"testing"
)

// keyOf returns a key that begins with the text.
func keyOf(text string) (key [KeyBytes]byte) {
	copy(key[:], text)
	return key
}

func withKey(c *statepb.Command, key string, digest []byte) *statepb.Command {
	c.GetSubmit().Key, c.GetSubmit().Digest = []byte(key), digest
	return c
}

// keyed returns a submission under a key, of user id%3.
func keyed(id JobID, text string) *statepb.Command {
	key := keyOf(text)
	return withKey(submit(id, 1), string(key[:]), make([]byte, DigestBytes))
}

// A key belongs to one user and one job, and outlives the job.
func TestSubmissionsUnderKeys(t *testing.T) {
	s := New()
	mustApply(t, s, keyed(1, "k"), keyed(2, "k"), submit(3, 1), keyed(4, "other"))
	if err := s.Apply(entry(s.Nanos(), keyed(5, "other"), keyed(6, "k"))); err != nil {
		t.Fatalf("another user's key is in the way: %v", err)
	}
	for _, test := range []struct {
		uid  uint32
		key  string
		want JobID
	}{{1, "k", 1}, {2, "k", 2}, {1, "other", 4}, {2, "other", 5}, {0, "k", 6}, {0, "other", 0}} {
		if got := s.Submitted(test.uid, keyOf(test.key)); test.want == 0 && got != nil || test.want != 0 && (got == nil || got.Job != test.want) {
			t.Errorf("user %d, key %q: %+v, want job %d", test.uid, test.key, got, test.want)
		}
	}
}

// KeysBefore covers forgotten keys; the others are found, after a restart too.
func TestEndedKeysAreBounded(t *testing.T) {
	s := New()
	mustApply(t, s, keyed(1, "waits"))
	key := func(id JobID) *statepb.Command {
		return keyed(id, string([]byte{byte(id), byte(id >> 8), byte(id >> 16), 'k'}))
	}
	const ends = maxEndedKeys + 10
	for id := JobID(2); id < 2+ends; id += 10 {
		var ten []*statepb.Command
		for next := id; next < min(id+10, 2+ends); next++ {
			ten = append(ten, key(next), end(next))
		}
		mustApply(t, s, ten...)
	}
	before := image(t, s)
	if err := s.Apply(entry(s.Nanos(), key(2+ends), end(2+ends), end(2+ends))); !errors.Is(err, ErrPhase) {
		t.Fatal(err)
	}
	if !bytes.Equal(image(t, s), before) {
		t.Fatal("taking back an end at the bound changed the state")
	}
	s, err := Restore(before)
	if err != nil {
		t.Fatal(err)
	}
	checkInvariants(t, s)
	of := func(id JobID) *Submission {
		return s.Submitted(uint32(id%3), [KeyBytes]byte(key(id).GetSubmit().GetKey()))
	}
	if of(11) != nil || of(12) == nil || of(1+ends) == nil || s.Submitted(1, keyOf("waits")) == nil {
		t.Error("not the oldest were forgotten")
	}
	if want := of(12).Nanos - 1; s.KeysBefore() != want {
		t.Errorf("those before %d are forgotten, want %d", s.KeysBefore(), want)
	}
	again := key(2)
	again.GetSubmit().JobId = s.NextJob()
	mustApply(t, s, again)
}

func checkSubmissions(t fataler, s *State) {
	t.Helper()
	all := s.submissions.all(s.Jobs())
	if len(all) != len(s.submissions.byKey) || len(all) != len(s.submissions.byJob) || len(s.submissions.ended) > maxEndedKeys {
		t.Fatalf("%d submissions, %d by key, %d by job, %d ended", len(all), len(s.submissions.byKey), len(s.submissions.byJob), len(s.submissions.ended))
	}
	for _, entered := range all {
		if entered.Job >= s.NextJob() || s.Submitted(entered.UID, entered.Key) != entered {
			t.Fatalf("submission %+v", entered)
		}
	}
}
