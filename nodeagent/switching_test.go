package nodeagent_test

import (
	"runtime"
	"score/ctxswitch"
	"score/ctxswitch/histogram"
	"score/nodeagent/leadertest"
	"score/scored/api/agentpb"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// share lets two spinning jobs take turns for a while, and until each has run in some of its
// slices, and returns when each ran and when its row was to come on first.
func share(
	t testing.TB, n *node, s *leadertest.Session, slice, length time.Duration, turns int, cpus [2]uint32,
) (spans [2][]span, origin int64) {
	t.Helper()
	files := [2]string{spinner(t, n, s, 1, cpus[0]), spinner(t, n, s, 2, cpus[1])}
	plan := planMessage(1, 1, slice, []uint64{1}, []uint64{2})
	s.Send(plan)
	launched(t, s, 1)
	launched(t, s, 2)
	for _, file := range files {
		awaitSpinning(t, file)
	}
	origin = plan.GetPlan().GetOriginNanos()
	letTurn(length, func() bool {
		so := [2][]span{readSpans(t, files[0]), readSpans(t, files[1])}
		return bothTurned(so, origin, slice, turns)
	})
	for job := range uint64(2) {
		s.Send(signalMessage(job+1, int32(unix.SIGTERM)))
	}
	for i := range files {
		_, exits := done(t, s, uint64(i)+1)
		if len(exits) != 1 || exits[0].GetExitCode() != 0 {
			t.Fatalf("job %d: %v", i+1, exits)
		}
		spans[i] = readSpans(t, files[i])
	}
	return spans, origin
}

// common cuts both lists to the time in which both jobs existed.
func common(spans [2][]span) (cut [2][]span, length time.Duration) {
	from := max(spans[0][0].From, spans[1][0].From)
	to := min(spans[0][len(spans[0])-1].To, spans[1][len(spans[1])-1].To)
	for i := range spans {
		for _, s := range spans[i] {
			s.From, s.To = max(s.From, from), min(s.To, to)
			if s.From < s.To {
				cut[i] = append(cut[i], s)
			}
		}
	}
	return cut, time.Duration(to - from)
}

func total(spans []span) (sum time.Duration) {
	for _, s := range spans {
		sum += s.length()
	}
	return sum
}

// overlap is the longest time for which both ran at once, and the sum.
func overlap(spans [2][]span) (longest, sum time.Duration) {
	for _, a := range spans[0] {
		for _, b := range spans[1] {
			if both := time.Duration(min(a.To, b.To) - max(a.From, b.From)); both > 0 {
				longest, sum = max(longest, both), sum+both
			}
		}
	}
	return longest, sum
}

// Slices much longer than what a busy machine lets a thread or a rank wait, and
// some rounds of them.
const (
	turnSlice  = 50 * time.Millisecond
	turnLength = 2 * time.Second
)

// A job of two runs in its own slices. What a rank gets of them is the business
// of Linux and of what runs beside the tests, so it is no measure; jobs that are
// not switched run as much in the slices of the other.
const (
	minInTurn   = 0.75 // of the time in which a job runs
	maxTogether = 0.05 // of the time that both exist, in which both run: jobs with a CPU each that are not switched do all the time
	minTurns    = 4    // slices in which a job runs at all
)

// inTurn returns which part of the time in which a job ran lay in its slices, and
// in how many of them it ran.
func inTurn(spans []span, job int, origin int64, slice time.Duration) (part float64, turns int) {
	var ran, inside int64
	seen := make(map[int64]bool)
	for _, s := range spans {
		ran += s.To - s.From
		for from := s.From; from < s.To; {
			slot := (from - origin) / slice.Nanoseconds()
			to := min(s.To, origin+(slot+1)*slice.Nanoseconds())
			if slot%2 == int64(job) {
				inside += to - from
				seen[slot] = true
			}
			from = to
		}
	}
	return float64(inside) / float64(max(ran, 1)), len(seen)
}

// bothTurned reports whether each of two jobs ran in so many of its slices since both existed.
func bothTurned(all [2][]span, origin int64, slice time.Duration, turns int) bool {
	if len(all[0]) == 0 || len(all[1]) == 0 {
		return turns == 0
	}
	spans, _ := common(all)
	for job := range spans {
		if _, had := inTurn(spans[job], job, origin, slice); had < turns {
			return false
		}
	}
	return true
}

func TestTwoSpinningJobsShareTheNode(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds; run without -short")
	}
	// Each on a CPU of its own, if there are two, so that only the agent keeps
	// them from running at once.
	own := [2]uint32{0, uint32(min(runtime.NumCPU(), 2) - 1)}
	inBothModes(t, func(t *testing.T, n *node, s *leadertest.Session) { taketurns(t, n, s, own) })
}

func TestTwoSpinningJobsShareACPU(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds; run without -short")
	}
	inBothModes(t, func(t *testing.T, n *node, s *leadertest.Session) { taketurns(t, n, s, [2]uint32{}) })
}

func taketurns(t *testing.T, n *node, s *leadertest.Session, cpus [2]uint32) {
	t.Helper()
	all, origin := share(t, n, s, turnSlice, turnLength, minTurns, cpus)
	if found := latencies(all, origin, turnSlice); len(found) > 0 {
		t.Logf("planned instant to running: median %v, max %v of %d", found[len(found)/2], found[len(found)-1], len(found))
	}
	spans, length := common(all)
	for i := range spans {
		part, turns := inTurn(spans[i], i, origin, turnSlice)
		t.Logf("job %d ran for %v of %v, %.1f %% of it in %d slices of its own", i+1, total(spans[i]), length, 100*part, turns)
		if part < minInTurn || turns < minTurns {
			t.Errorf("job %d ran in %d of its slices, %.1f %% of its time", i+1, turns, 100*part)
		}
	}
	apart(t, spans)
}

// apart fails if two jobs run at once.
func apart(t *testing.T, all [2][]span) {
	t.Helper()
	spans, length := common(all)
	longest, sum := overlap(spans)
	t.Logf("both at once: %v of %v, %v at most", sum, length, longest)
	if sum.Seconds() > maxTogether*length.Seconds() {
		t.Errorf("both ran at once for %v of %v", sum, length)
	}
}

func TestLoneJobIsNeverStopped(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds; run without -short")
	}
	inBothModes(t, func(t *testing.T, n *node, s *leadertest.Session) {
		spinner(t, n, s, 1, 0)
		s.Send(planMessage(1, 1, 5*time.Millisecond, []uint64{1}))
		launched(t, s, 1)
		s.Send(planMessage(1, 2, 5*time.Millisecond, []uint64{1}, []uint64{1})) // two rows with the same jobs
		report(t, s)
		s.Send(killMessage(1))
		end, _ := done(t, s, 1)
		u := end.GetUsage()
		if u.GetSlices() != 1 || u.GetLateFreezes() != 0 {
			t.Errorf("usage: %v", u)
		}
		for _, m := range s.Passed() {
			if len(m.GetSwitchReport().GetBoundaries()) > 0 {
				t.Errorf("switches of a lone job: %v", m)
			}
		}
	})
}

// report waits for the next report with usage of a job.
func report(t testing.TB, s *leadertest.Session) *agentpb.SwitchReport {
	t.Helper()
	return s.Until(t, "report", func(m *agentpb.AgentMessage) bool {
		return len(m.GetSwitchReport().GetUsage()) > 0
	}).GetSwitchReport()
}

func TestOldPlansAreIgnored(t *testing.T) {
	inBothModes(t, func(t *testing.T, n *node, s *leadertest.Session) {
		spinner(t, n, s, 1, 0)
		s.Send(planMessage(1, 5, time.Second, []uint64{1}))
		launched(t, s, 1)
		s.Send(planMessage(1, 4, time.Second)) // an older version
		s.Send(planMessage(0, 9, time.Second)) // an older term
		for request := range uint64(20) {
			states := rankStates(t, s, 1, request+1)
			if !states.GetGangOn() || states.GetRanks()[0].GetState() != "running" {
				t.Fatalf("an old plan was obeyed: %v", states)
			}
		}
		s.Send(killMessage(1))
		done(t, s, 1)
	})
}

func TestReportsOfSwitches(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds; run without -short")
	}
	leader := startLeader(t)
	n := startNode(t, leader)
	s := leader.Next(t)
	clocked(t, s)
	const slice = 10 * time.Millisecond
	share(t, n, s, slice, 1200*time.Millisecond, 0, [2]uint32{0, 0})
	last, totals := int64(0), make(map[uint64]uint64)
	// The first report may be of the first switch alone.
	for totals[0] == 0 || totals[1] == 0 || totals[2] == 0 {
		r := s.Until(t, "report with boundaries", func(m *agentpb.AgentMessage) bool {
			return len(m.GetSwitchReport().GetBoundaries()) > 0
		}).GetSwitchReport()
		last = checkBoundaries(t, r, last)
		for _, steps := range r.GetSteps() {
			totals[steps.GetJobId()] += switchesOf(t, steps)
		}
		t.Logf("late: %d", r.GetLateFreezes())
		for _, u := range r.GetUsage() {
			if u.GetUsage().GetSlices() == 0 || u.GetUsage().GetRunNanos() == 0 {
				t.Errorf("usage: %v", u)
			}
		}
	}
}

// checkBoundaries returns the last planned instant.
func checkBoundaries(t *testing.T, r *agentpb.SwitchReport, last int64) int64 {
	t.Helper()
	for _, b := range r.GetBoundaries() {
		if b.GetPlannedNanos() <= last || b.GetRunningNanos() < b.GetPlannedNanos() || b.GetPlanVersion() != 1 || b.GetRowPosition() > 1 {
			t.Errorf("boundary: %v", b)
		}
		if len(b.GetJobsIn()) > 1 || len(b.GetJobsIn())+len(b.GetJobsOut()) == 0 { // one alone went when it had ended
			t.Errorf("jobs in: %v", b)
		}
		last = b.GetPlannedNanos()
	}
	return last
}

// switchesOf is how many whole switches were measured.
func switchesOf(t *testing.T, steps *agentpb.SwitchReport_Steps) (total uint64) {
	t.Helper()
	if len(steps.GetHistograms()) != len(ctxswitch.MeasureTable) {
		t.Fatalf("%d histograms", len(steps.GetHistograms()))
	}
	for i, info := range ctxswitch.MeasureTable {
		var h histogram.Histogram
		if err := h.UnmarshalBinary(steps.GetHistograms()[i]); err != nil {
			t.Fatal(err)
		}
		if steps.GetJobId() == 0 && h.Count() > 0 {
			t.Logf("%s: median %v, p99 %v, max %v of %d", info.Name, h.Quantile(0.5), h.Quantile(0.99), h.Max(), h.Count())
		}
		if info.ID == ctxswitch.MeasureTotal {
			total = h.Count()
		}
	}
	return total
}

func TestTimeIsUp(t *testing.T) {
	inBothModes(t, func(t *testing.T, n *node, s *leadertest.Session) {
		order := n.order(1, "sleep", "1000")
		order.Spec.TimeLimitNanos = (50 * time.Millisecond).Nanoseconds()
		mustPrepare(t, s, order)
		before := clusterNow() // the ranks' own start is told too late to count from
		s.Send(planMessage(1, 1, time.Second, []uint64{1}))
		launched(t, s, 1)
		s.Until(t, "time up", func(m *agentpb.AgentMessage) bool { return m.GetTimeUp().GetJobId() == 1 })
		if took := time.Duration(clusterNow() - before); took < 50*time.Millisecond {
			t.Errorf("time was up after %v", took)
		}
		s.Send(killMessage(1))
		done(t, s, 1)
	})
}

// latencies tells for every slice how long after its planned instant the job
// of its row ran.
func latencies(spans [2][]span, origin int64, slice time.Duration) []time.Duration {
	var found []time.Duration
	for i, list := range spans {
		seen := int64(-1)
		for _, s := range list[1:] { // the first begins with the launch
			since := s.From - origin - int64(i)*slice.Nanoseconds()
			round, phase := since/(2*slice.Nanoseconds()), since%(2*slice.Nanoseconds())
			if phase < slice.Nanoseconds() && round != seen {
				found, seen = append(found, time.Duration(phase)), round
			}
		}
	}
	slices.Sort(found)
	return found
}

// BenchmarkSwitch shows how long after the planned instant a gang of one rank
// runs that has to take the CPU from another.
func BenchmarkSwitch(b *testing.B) {
	leader := startLeader(b)
	n := startNode(b, leader)
	s := leader.Next(b)
	clocked(b, s)
	const slice = 5 * time.Millisecond
	b.ResetTimer()
	spans, origin := share(b, n, s, slice, max(time.Duration(b.N)*slice, 200*time.Millisecond), 0, [2]uint32{0, 0})
	found := latencies(spans, origin, slice)
	if len(found) == 0 {
		b.Fatal("no switches")
	}
	b.ReportMetric(float64(found[len(found)/2].Nanoseconds())/1e3, "median-us")
	b.ReportMetric(float64(found[len(found)*99/100].Nanoseconds())/1e3, "p99-us")
	b.ReportMetric(float64(found[len(found)-1].Nanoseconds())/1e3, "max-us")
}
