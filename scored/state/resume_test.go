package state

import "testing"

func TestResume(t *testing.T) {
	s := twoNodes(t)
	mustApply(t, s, addToken("t1", "agent", s.Nanos()+100))
	next := s.NextJob()
	s.Resume()
	if got := s.NextJob(); got != next+JobLeap {
		t.Errorf("the next job is %d", got)
	}
	if len(s.Tokens()) != 0 {
		t.Error("a token counts still")
	}
	again, err := Restore(image(t, s))
	if err != nil {
		t.Fatal(err)
	}
	mustApply(t, again, submit(next+JobLeap, 1), end(1))
	checkInvariants(t, again)
}
