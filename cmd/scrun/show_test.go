package main

import (
	"errors"
	"score/scored/api/scorev1"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Events are shown in their order, all of them, whether or not anything is shown meanwhile; only a
// flood waits.
func TestUnshown(t *testing.T) {
	const piece, extra = 1 << 20, 3
	const pieces = maxUnshown/piece + extra
	synctest.Test(t, func(t *testing.T) {
		u, put := newUnshown(), 0
		data := make([]byte, piece)
		go func() {
			for i := range pieces {
				u.put(&scorev1.AttachEvent{Event: &scorev1.AttachEvent_Output{Output: &scorev1.Output{Rank: uint32(i), Data: data}}})
				put++
			}
			u.end()
		}()
		synctest.Wait()
		if put != maxUnshown/piece {
			t.Errorf("%d pieces were taken before any was shown, want %d", put, maxUnshown/piece)
		}
		next := uint32(0)
		for batch := u.take(); batch != nil; batch = u.take() {
			for _, event := range batch {
				if got := event.GetOutput().GetRank(); got != next {
					t.Fatalf("piece %d comes as number %d", got, next)
				}
				next++
				u.release(piece)
			}
			synctest.Wait()
		}
		if next != pieces {
			t.Errorf("%d pieces came, want %d", next, pieces)
		}
	})
}

// What has come need not come again, and is told to be shown only when it is.
func TestWhatHasComeIsNotShown(t *testing.T) {
	s := newShown(t.Context(), 1, func([]*scorev1.OutputMark) error { return nil })
	mark := &scorev1.OutputMark{JobId: 1, Attempt: 1, Sequence: 1}
	if !s.isNew(mark) || s.isNew(mark) {
		t.Error("a piece of output is new once")
	}
	if got := s.received(); len(got) != 1 || got[0].GetSequence() != 1 {
		t.Errorf("what came is %v", got)
	}
	if got := marksOf(s.last); len(got) != 0 {
		t.Errorf("what was shown is %v", got)
	}
	s.add(&scorev1.Output{Mark: mark})
	if got := marksOf(s.last); len(got) != 1 {
		t.Errorf("what was shown is %v", got)
	}
}

// A confirmation that does not arrive is sent again, though nothing more is shown: the ranks may
// wait for it.
func TestConfirmationIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var confirmed []uint64
		s := newShown(t.Context(), 1, func(marks []*scorev1.OutputMark) error {
			confirmed = append(confirmed, marks[0].GetSequence())
			if len(confirmed) < 3 {
				return errors.New("the server does not answer")
			}
			return nil
		})
		s.add(&scorev1.Output{Mark: &scorev1.OutputMark{JobId: 1, Sequence: 7}, Data: make([]byte, confirmEvery)})
		time.Sleep(time.Minute)
		synctest.Wait()
		if !slices.Equal(confirmed, []uint64{7, 7, 7}) {
			t.Errorf("confirmed %v", confirmed)
		}
	})
}
