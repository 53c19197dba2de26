package state

import (
	"fmt"
	"score/scored/api/protocol"
	"score/scored/api/scorev1"
	"score/scored/state/statepb"
)

func (s *State) setSettings(c *statepb.SetSettings, now int64) error {
	settings := c.GetSettings()
	if settings.GetSliceNanos() <= 0 || settings.GetMaxRows() == 0 {
		return fmt.Errorf("%w: settings need a slice and a row", ErrCommand)
	}
	if settings.GetHistory() != 0 && s.Protocol() < protocol.History {
		return fmt.Errorf("%w: the length of the history in protocol %d", ErrCommand, s.Protocol())
	}
	if settings.GetHistory() > MaxFinished {
		return fmt.Errorf("%w: a history of %d jobs", ErrCommand, settings.GetHistory())
	}
	before := s.settings
	if HalfLifeOf(settings) != HalfLifeOf(before) {
		s.decayAll(now)
	}
	s.undo = append(s.undo, func() { s.settings = before })
	s.settings = settings
	s.forgetFinished()
	return nil
}

// FinishedOf returns how many finished jobs are remembered under these settings.
func FinishedOf(settings *scorev1.Settings) int {
	if n := settings.GetHistory(); n != 0 {
		return int(n)
	}
	return DefaultFinished
}
