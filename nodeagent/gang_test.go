package nodeagent_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"score/nodeagent"
	"score/nodeagent/leadertest"
)

// gangSlice and gangLength give a hundred switches.
const (
	gangSlice  = 10 * time.Millisecond
	gangLength = time.Second
)

// runGangs lets two gangs take turns on two nodes, one rank of each on each, and
// returns when the ranks ran by their own account: spans[job][node].
func runGangs(t *testing.T) (spans [2][2][]span, origin int64) {
	t.Helper()
	leader := startLeader(t)
	var nodes [2]*node
	var sessions [2]*leadertest.Session
	for i, name := range []string{"n1", "n2"} {
		nodes[i] = startNode(t, leader, func(o *nodeagent.Options) { o.Name = name })
		sessions[i] = leader.Next(t)
		clocked(t, sessions[i])
	}
	var files [2][2]string
	for job := range files {
		for i, n := range nodes {
			files[job][i] = spinner(t, n, sessions[i], uint64(job)+1, uint32(i%runtime.NumCPU()))
		}
	}
	plan := planMessage(1, 1, gangSlice, []uint64{1}, []uint64{2})
	for _, s := range sessions {
		s.Send(plan)
	}
	for _, s := range sessions {
		launched(t, s, 1)
		launched(t, s, 2)
	}
	// The passing of time is what is tested here.
	time.Sleep(gangLength)
	for job := range files {
		for _, s := range sessions {
			s.Send(signalMessage(uint64(job)+1, int32(unix.SIGTERM)))
		}
		for i, s := range sessions {
			done(t, s, uint64(job)+1)
			spans[job][i] = readSpans(t, files[job][i])
		}
	}
	return spans, plan.GetPlan().GetOriginNanos()
}

// begins gives the instant at which a rank began to run in each slice of its
// job, counted from the slice's planned begin. Slices in which it did not run
// before the last quarter are left out: the machine had other things to do.
func begins(spans []span, job int, origin int64) map[int64]time.Duration {
	found := make(map[int64]time.Duration)
	for _, s := range spans[1:] { // the first begins with the launch
		since := s.From - origin - int64(job)*gangSlice.Nanoseconds()
		round, phase := since/(2*gangSlice.Nanoseconds()), time.Duration(since%(2*gangSlice.Nanoseconds()))
		if _, known := found[round]; !known && phase < gangSlice*3/4 {
			found[round] = phase
		}
	}
	return found
}

// overlaps gives, for each slice of job 1, for how long its rank on the one node
// and the rank of job 2 on the other ran at once.
func overlaps(one, other []span, origin int64) []time.Duration {
	sums := make(map[int64]time.Duration)
	for _, a := range one[1:] {
		round := (a.From - origin) / (2 * gangSlice.Nanoseconds())
		for _, b := range other[1:] {
			sums[round] += time.Duration(max(0, min(a.To, b.To)-max(a.From, b.From)))
		}
	}
	var all []time.Duration
	for _, d := range sums {
		all = append(all, d)
	}
	slices.Sort(all)
	return all
}

// gangAttempts: what other programs on the machine do to a rank is not what is
// tested, and a machine busy for three runs in a row cannot tell.
const gangAttempts = 3

// TestGangsRunWholeAndApart asks the ranks themselves: those of a gang run in the
// same instants on both nodes, and not while the other gang runs on either.
func TestGangsRunWholeAndApart(t *testing.T) {
	var failures []string
	for range gangAttempts {
		if failures = gangFailures(t); len(failures) == 0 {
			return
		}
		t.Log(failures)
	}
	t.Errorf("in the last of %d runs: %v", gangAttempts, failures)
}

// gangFailures runs two gangs once and says what was wrong.
func gangFailures(t *testing.T) (failures []string) {
	t.Helper()
	spans, origin := runGangs(t)
	for job := range spans {
		var apart []time.Duration
		there := begins(spans[job][1], job, origin)
		for round, here := range begins(spans[job][0], job, origin) {
			if at, ok := there[round]; ok {
				apart = append(apart, (here - at).Abs())
			}
		}
		if len(apart) < 15 {
			return append(failures, fmt.Sprintf("job %d: only %d slices in which both ranks ran", job+1, len(apart)))
		}
		slices.Sort(apart)
		t.Logf("job %d: its ranks begin within: quarter %v, median %v, max %v of %d",
			job+1, apart[len(apart)/4], apart[len(apart)/2], apart[len(apart)-1], len(apart))
		// Where other programs fill the CPUs, Linux lets a rank wait for its turn
		// after the thaw, and not the same time on both. A quarter of the slices
		// are quiet enough on any machine that can run this test.
		if apart[len(apart)/4] > time.Millisecond {
			failures = append(failures, fmt.Sprintf("job %d: the ranks begin %v apart", job+1, apart[len(apart)/4]))
		}
	}
	for i := range 2 {
		both := overlaps(spans[0][i], spans[1][1-i], origin)
		t.Logf("job 1 on one node beside job 2 on the other: median %v, max %v of %d", both[len(both)/2], both[len(both)-1], len(both))
		if median := both[len(both)/2]; median > time.Millisecond {
			failures = append(failures, fmt.Sprintf("two gangs run at once for %v in each round", median))
		}
	}
	return failures
}
