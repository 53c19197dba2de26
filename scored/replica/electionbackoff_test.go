package replica

import (
	"testing"
	"time"
)

func TestElectionBackoff(t *testing.T) {
	const usual = electionTimeout
	type step struct {
		after time.Duration
		term  uint64
		led   bool
		want  time.Duration
	}
	for name, steps := range map[string][]step{
		"a start without a leader": {{0, 7, false, usual}, {time.Second, 8, false, usual}, {time.Second, 9, true, usual}},
		"a leader":                 {{0, 7, true, usual}, {time.Hour, 7, true, usual}},
		"leaders that follow each other": {
			{0, 7, true, usual}, {time.Second, 9, true, usual}, {time.Second, 11, true, usual},
		},
		"no election is begun, since there is no majority": {
			{0, 7, true, usual}, {time.Second, 7, false, usual}, {time.Hour, 7, false, usual}, {time.Second, 8, true, usual},
		},
		"a split vote": {{0, 7, true, usual}, {time.Second, 8, false, usual}, {time.Second, 9, true, usual}},
		"elections without a leader, then calm": {
			{0, 7, true, usual},
			{time.Second, 8, false, usual},
			{time.Second, 9, false, 2 * usual},
			{time.Second, 10, false, 2 * usual},
			{time.Second, 11, false, 4 * usual},
			{time.Second, 12, true, 4 * usual},
			{calmTime - 2*time.Second, 12, true, 4 * usual},
			{time.Second, 12, true, usual},
		},
		"a leader that does not last is no calm": {
			{0, 7, true, usual},
			{time.Second, 9, false, 2 * usual},
			{time.Second, 9, true, 2 * usual},
			{calmTime - 2*time.Second, 9, false, 2 * usual},
			{time.Second, 10, true, 2 * usual},
			{calmTime - 2*time.Second, 10, true, 2 * usual},
		},
		"a bound": {
			{0, 9, false, 2 * usual},
			{time.Second, 11, false, 4 * usual},
			{time.Second, 13, false, 8 * usual},
			{time.Second, 15, false, maxElectionTimeout},
			{time.Second, 17, false, maxElectionTimeout},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newElectionBackoff(usual, 7)
			now := time.Unix(1000, 0)
			for i, s := range steps {
				now = now.Add(s.after)
				if got := b.next(now, s.term, s.led); got != s.want {
					t.Fatalf("step %d: %v, want %v", i, got, s.want)
				}
			}
		})
	}
}
