package main

import (
	"testing"
	"time"
)

func TestPresses(t *testing.T) {
	const (
		show  = interruptShow
		kill  = interruptKill
		leave = interruptLeave
	)
	for name, test := range map[string]struct {
		after []time.Duration // since the press before
		want  []interruptAction
	}{
		"once":                   {[]time.Duration{0}, []interruptAction{show}},
		"three quick ones":       {[]time.Duration{0, 100 * time.Millisecond, 0}, []interruptAction{show, kill, leave}},
		"the second in time":     {[]time.Duration{0, time.Second}, []interruptAction{show, kill}},
		"the second too late":    {[]time.Duration{0, time.Second + 1}, []interruptAction{show, show}},
		"late, then quick":       {[]time.Duration{0, time.Minute, time.Second}, []interruptAction{show, show, kill}},
		"leaving needs no hurry": {[]time.Duration{0, 0, time.Hour}, []interruptAction{show, kill, leave}},
	} {
		t.Run(name, func(t *testing.T) {
			var machine interrupts
			now := time.Unix(1_700_000_000, 0)
			for i, pause := range test.after {
				now = now.Add(pause)
				if got := machine.press(now); got != test.want[i] {
					t.Errorf("press %d: %d, want %d", i+1, got, test.want[i])
				}
			}
		})
	}
}

// TestSentInterrupts: a program needs no second SIGINT, and two at once do not leave the job.
func TestSentInterrupts(t *testing.T) {
	var machine interrupts
	now := time.Unix(1_700_000_000, 0)
	for i, step := range []struct {
		pause time.Duration
		want  interruptAction
	}{
		{0, interruptKill}, {0, interruptNothing}, {confirmTime, interruptNothing}, {time.Nanosecond, interruptLeave},
	} {
		now = now.Add(step.pause)
		if got := machine.sent(now); got != step.want {
			t.Errorf("SIGINT %d: %d, want %d", i+1, got, step.want)
		}
	}
	var seen interrupts
	if seen.press(now) != interruptShow || seen.sent(now) != interruptKill || seen.press(now) != interruptLeave {
		t.Error("one that was sent after a ^C ends the job, and a ^C leaves it then")
	}
}
