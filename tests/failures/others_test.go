package failures

import (
	"context"
	"math"
	"score/scored/failpoint"
	"score/tests/daemons"
	"testing"
	"time"
)

// cutOff counts flushes whose deadline passed.
const cutOff = `score_agent_flushes_total{kind="cut_off"`

// silence is longer than an agent takes to count its flushes, and shorter than a node may be
// silent before it is given up.
const silence = 1500 * time.Millisecond

// A node whose agent stands still when it has taken a gang's driver locks answers nothing. The
// flushes of its peers end at their deadline, and nothing is lost.
func TestFlushDeadlinePasses(t *testing.T) {
	s := newScene(t, scarce)
	for range rounds() {
		s.ready()
		before := s.metric(cutOff)
		var at time.Time
		s.Await("a flush is cut off", func() bool {
			// Chance decides whether the victim's rank has something on the way: if not, again.
			s.stopAt("n2", failpoint.SwitchRevokeEnd.String(), nil)
			cut := s.flushesBeyond(before)
			at = time.Now()
			s.Agent("n2").Continue()
			return cut
		})
		for _, j := range []*daemons.Job{s.a, s.b, s.c} {
			_, err := j.AwaitRounds(s.Ctx, at)
			s.Check(err)
		}
	}
	s.end()
}

// flushesBeyond waits for a flush of the victim to be cut off, not long.
func (s *scene) flushesBeyond(before float64) bool {
	ctx, cancel := context.WithTimeout(s.Ctx, silence)
	defer cancel()
	return daemons.Await(ctx, "a flush is cut off", func() bool {
		now, err := s.Agent(victim).Metric(cutOff)
		return err == nil && now > before
	}) == nil
}

// holdUp keeps a step from ending for longer than it takes an agent to believe in a clock
// that jumped: three heartbeats, which are half a second apart.
const holdUp = "delay:2s"

// jump is more than heartbeats may err by on a busy machine, no multiple of a slice, and less than
// a slice more than rounds of three slices: a gang whose slices on the victim and elsewhere never
// were at the same time would not go on meanwhile.
const jump = 34*3*slice + 3*time.Millisecond

// The clock of the leader, as one node sees it, jumps: between switches, and in each step.
func TestClockStepped(t *testing.T) {
	s := newScene(t, scarce)
	points := []failpoint.Point{failpoint.SwitchFlushBegin}
	if *times > 0 {
		points = switchPoints
	}
	for range rounds() {
		for _, by := range []time.Duration{jump, -jump} {
			s.clockSteps(by, "")
		}
		for _, p := range points {
			s.clockSteps(jump, p.String())
		}
	}
	s.end()
}

// clockSteps lets the victim's clock jump and come back, at a point if there is one.
func (s *scene) clockSteps(by time.Duration, point string) {
	s.T.Helper()
	s.ready()
	base := s.offset()
	list := victim + ":clock.sample=shift:" + by.String()
	if point != "" {
		list += "," + victim + ":" + point + "=" + holdUp + "@1"
	}
	s.Check(s.Fail(list))
	s.awaitOffset(base + by)
	for _, j := range []*daemons.Job{s.a, s.b, s.c} {
		_, err := j.AwaitRounds(s.Ctx, time.Now())
		s.Check(err)
	}
	s.Check(s.Fail(""))
	s.awaitOffset(base)
	s.goOn(time.Now(), s.a, s.b, s.c)
	s.clean()
}

// offset is by how much the leader's clock is ahead, as the victim sees it.
func (s *scene) offset() time.Duration {
	s.T.Helper()
	return time.Duration(s.metric("score_agent_clock_offset_seconds") * float64(time.Second))
}

// metric asks the victim's agent until it answers.
func (s *scene) metric(name string) (value float64) {
	s.T.Helper()
	s.Await("the agent tells "+name, func() (ok bool) {
		var err error
		value, err = s.Agent(victim).Metric(name)
		return err == nil
	})
	return value
}

func (s *scene) awaitOffset(want time.Duration) {
	s.T.Helper()
	const near = jump / 4
	s.Await("the clock has jumped", func() bool {
		return math.Abs(float64(s.offset()-want)) < float64(near)
	})
}
