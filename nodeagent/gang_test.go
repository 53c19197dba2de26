package nodeagent_test

import (
	"runtime"
	"score/nodeagent"
	"score/nodeagent/leadertest"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// gangSlice is far above the error of a clock that is read while others fill the
// CPUs; gangLength has twenty of them.
const (
	gangSlice  = 100 * time.Millisecond
	gangLength = 2 * time.Second
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
	for job := range files {
		for i := range nodes {
			awaitSpinning(t, files[job][i])
		}
	}
	origin = plan.GetPlan().GetOriginNanos()
	letTurn(gangLength, func() bool {
		for job := range files {
			so := [2][]span{readSpans(t, files[job][0]), readSpans(t, files[job][1])}
			if len(beginsApart(so, job, origin)) < minTurns {
				return false
			}
		}
		return true
	})
	for job := range files {
		for _, s := range sessions {
			s.Send(signalMessage(uint64(job)+1, int32(unix.SIGTERM)))
		}
		for i, s := range sessions {
			done(t, s, uint64(job)+1)
			spans[job][i] = readSpans(t, files[job][i])
		}
	}
	return spans, origin
}

// begins returns the instant at which a rank began to run in each slice of its
// job, counted from the slice's planned begin. Slices in which it did not run
// before the last quarter are left out: the machine had other things to do.
func begins(spans []span, job int, origin int64) map[int64]time.Duration {
	found := make(map[int64]time.Duration)
	for _, s := range spans[min(1, len(spans)):] { // the first begins with the launch
		since := s.From - origin - int64(job)*gangSlice.Nanoseconds()
		round, phase := since/(2*gangSlice.Nanoseconds()), time.Duration(since%(2*gangSlice.Nanoseconds()))
		if _, known := found[round]; !known && phase < gangSlice*3/4 {
			found[round] = phase
		}
	}
	return found
}

// TestGangsRunWholeAndApart asks the ranks themselves: those of a gang run in the
// same slices on both nodes, and not while the other gang runs on either. How
// closely is shown by the benchmark; it is only told here.
func TestGangsRunWholeAndApart(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds; run without -short")
	}
	spans, origin := runGangs(t)
	for job := range spans {
		for i := range spans[job] {
			part, turns := inTurn(spans[job][i][1:], job, origin, gangSlice) // the first begins with the launch
			t.Logf("job %d on node %d: %.1f %% of its time in %d slices of its own", job+1, i+1, 100*part, turns)
			if part < minInTurn || turns < minTurns {
				t.Errorf("job %d ran in %d of its slices on node %d, %.1f %% of its time", job+1, turns, i+1, 100*part)
			}
		}
		within := beginsApart(spans[job], job, origin)
		if len(within) < minTurns {
			t.Fatalf("job %d: only %d slices in which both ranks ran", job+1, len(within))
		}
		t.Logf("job %d: its ranks begin within: median %v, max %v of %d", job+1, within[len(within)/2], within[len(within)-1], len(within))
	}
	for i := range 2 {
		apart(t, [2][]span{spans[0][i][1:], spans[1][1-i][1:]}) // job 1 on one node beside job 2 on the other
	}
}

// beginsApart tells, for each slice in which both ranks of a job ran, how much
// earlier the one began, in order of length.
func beginsApart(spans [2][]span, job int, origin int64) (apart []time.Duration) {
	there := begins(spans[1], job, origin)
	for round, here := range begins(spans[0], job, origin) {
		if at, ok := there[round]; ok {
			apart = append(apart, (here - at).Abs())
		}
	}
	slices.Sort(apart)
	return apart
}
