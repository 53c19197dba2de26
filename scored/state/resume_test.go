package state

import "testing"

func TestResume(t *testing.T) {
	s := twoNodes(t)
	mustApply(t, s, addToken("t1", "agent", s.Nanos()+100), keyed(5, "k"))
	next := s.NextJob()
	s.Resume(1000)
	if got := s.NextJob(); got != next+JobLeap {
		t.Errorf("the next job is %d", got)
	}
	if len(s.Tokens()) != 0 {
		t.Error("a token counts still")
	}
	if s.Submitted(2, keyOf("k")) != nil || s.KeysBefore() != 1000 {
		t.Errorf("a key is known still, or it is not known that some are forgotten: %d", s.KeysBefore())
	}
	again, err := Restore(image(t, s))
	if err != nil {
		t.Fatal(err)
	}
	mustApply(t, again, submit(next+JobLeap, 1), end(1))
	checkInvariants(t, again)
}
