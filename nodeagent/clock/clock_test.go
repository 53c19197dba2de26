package clock

import (
	"errors"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const (
	start  = int64(time.Hour)                     // local instant at which the tests begin
	leader = int64(1_800_000_000) * 1_000_000_000 // cluster time then
)

// twoClocks is the truth that a filter tries to find: the leader's clock runs
// off from the local one at a steady rate.
type twoClocks struct {
	base int64 // cluster time at the local instant start
	ppm  int64 // by which the leader's clock is faster
}

// cluster returns the leader's clock at a local instant.
func (c twoClocks) cluster(local int64) int64 {
	elapsed := local - start
	return c.base + elapsed + elapsed/1_000_000*c.ppm + elapsed%1_000_000*c.ppm/1_000_000
}

// offset returns the true offset at a local instant.
func (c twoClocks) offset(local int64) int64 { return c.cluster(local) - local }

// beat makes the sample of a heartbeat sent at a local instant.
func (c twoClocks) beat(sent int64, there, back time.Duration) Sample {
	return c.beatAt(sent, there, 0, back)
}

// beatAt is beat of a leader that takes its time to answer.
func (c twoClocks) beatAt(sent int64, there, stay, back time.Duration) Sample {
	return Sample{
		Sent: sent, Arrived: c.cluster(sent + int64(there)), Left: c.cluster(sent + int64(there+stay)),
		Received: sent + int64(there+stay+back),
	}
}

// wrong is by how much an estimate is wrong.
func (c twoClocks) wrong(e Estimate, now int64) time.Duration {
	d := time.Duration(e.Offset - c.offset(now))
	return max(d, -d)
}

// rounding is what the integer arithmetic of these tests may add.
const rounding = 2 * time.Nanosecond

func TestOneSample(t *testing.T) {
	var f Filter
	if _, ok := f.Estimate(start); ok {
		t.Fatal("an estimate from nothing")
	}
	if err := f.Add(3, Sample{Sent: 1000, Arrived: 500_000, Left: 500_400, Received: 1501}); err != nil {
		t.Fatal(err)
	}
	e, ok := f.Estimate(1501)
	want := Estimate{Term: 3, Offset: 500_400 - 1501 + 50, ErrorBound: 51 + 1, RTT: 101, Age: 0}
	if !ok || e != want {
		t.Errorf("%+v, want %+v", e, want)
	}
}

func TestRefusedSamples(t *testing.T) {
	good := Sample{Sent: start, Arrived: leader, Left: leader, Received: start + 1000}
	tests := []struct {
		name string
		term uint64
		s    Sample
		want error
	}{
		{"received before sent", 5, Sample{start, leader, leader, start - 1}, ErrImpossible},
		{"negative", 5, Sample{-1, leader, leader, 1}, ErrImpossible},
		{"no such time", 5, Sample{start, math.MaxInt64, math.MaxInt64, start + 1}, ErrImpossible},
		{"far away", 5, Sample{start, math.MinInt64, math.MinInt64, math.MaxInt64}, ErrImpossible},
		{"left before it arrived", 5, Sample{start, leader + 1, leader, start + 1000}, ErrImpossible},
		{"longer at the leader than away", 5, Sample{start, leader, leader + 1002, start + 1000}, ErrImpossible},
		{"slow", 5, Sample{start, leader, leader, start + int64(MaxRoundTrip) + 1}, ErrSlow},
		{"a former leader", 4, good, ErrOldTerm},
		{"contradicting", 5, Sample{start, leader + 1_000_000, leader + 1_000_000, start + 1000}, ErrOutlier},
	}
	for _, test := range tests {
		var f Filter
		if err := f.Add(5, good); err != nil {
			t.Fatal(err)
		}
		before, _ := f.Estimate(start + 2000)
		if err := f.Add(test.term, test.s); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
		if after, _ := f.Estimate(start + 2000); after != before {
			t.Errorf("%s: changed the estimate from %+v to %+v", test.name, before, after)
		}
	}
}

func TestShortestRoundTripWins(t *testing.T) {
	c := twoClocks{base: leader}
	var f Filter
	now := start
	for i, beat := range []struct{ there, back time.Duration }{
		{900 * time.Microsecond, 100 * time.Microsecond},
		{40 * time.Microsecond, 40 * time.Microsecond},
		{100 * time.Microsecond, 800 * time.Microsecond},
	} {
		s := c.beat(now, beat.there, beat.back)
		if err := f.Add(1, s); err != nil {
			t.Fatalf("sample %d: %v", i, err)
		}
		now = s.Received
	}
	now += int64(100 * time.Millisecond)
	e, _ := f.Estimate(now)
	if e.RTT != 80*time.Microsecond {
		t.Errorf("rests on a round trip of %v", e.RTT)
	}
	if w := c.wrong(e, now); w > rounding {
		t.Errorf("wrong by %v", w)
	}
}

// TestOldSamplesCountLess: a short round trip of long ago is worth less
// than a longer one of now.
func TestOldSamplesCountLess(t *testing.T) {
	c := twoClocks{base: leader, ppm: MaxDriftPPM}
	var f Filter
	if err := f.Add(1, c.beat(start, 20*time.Microsecond, 20*time.Microsecond)); err != nil {
		t.Fatal(err)
	}
	later := start + int64(30*time.Second)
	s := c.beat(later, 200*time.Microsecond, 200*time.Microsecond)
	if err := f.Add(1, s); err != nil {
		t.Fatal(err)
	}
	now := s.Received + int64(time.Second)
	e, _ := f.Estimate(now)
	if e.RTT != 400*time.Microsecond || e.Age != time.Second {
		t.Errorf("rests on a sample of %v ago with a round trip of %v", e.Age, e.RTT)
	}
}

// TestErrorStaysInBound: whatever the delays of both ways, the clocks' drift and
// the samples before, the offset in use is never wrong by more than its bound.
func TestErrorStaysInBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := twoClocks{base: leader, ppm: rapid.Int64Range(-MaxDriftPPM+1, MaxDriftPPM-1).Draw(t, "ppm")}
		delay := rapid.Int64Range(0, int64(2*time.Millisecond))
		pause := rapid.Int64Range(0, int64(2*time.Second))
		var f Filter
		now := start
		for range rapid.IntRange(1, 3*Window).Draw(t, "beats") {
			s := c.beatAt(now, time.Duration(delay.Draw(t, "there")), time.Duration(delay.Draw(t, "stay")), time.Duration(delay.Draw(t, "back")))
			if err := f.Add(1, s); err != nil {
				t.Fatalf("an honest sample: %v", err)
			}
			now = s.Received
			checkEstimate(t, &f, c, now)
			now += pause.Draw(t, "pause")
			checkEstimate(t, &f, c, now)
		}
	})
}

func checkEstimate(t *rapid.T, f *Filter, c twoClocks, now int64) {
	e, ok := f.Estimate(now)
	if !ok {
		t.Fatal("no estimate")
	}
	if w := c.wrong(e, now); w > e.ErrorBound+rounding {
		t.Fatalf("wrong by %v, bound %v (%+v)", w, e.ErrorBound, e)
	}
	if e.Age < 0 || e.RTT < 0 || e.RTT > MaxRoundTrip {
		t.Fatalf("%+v", e)
	}
}

// TestErrorWithinHalfTheRoundTrip: without drift, and once slewing is over, the
// error is at most half the shortest round trip seen.
func TestErrorWithinHalfTheRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := twoClocks{base: leader}
		delay := rapid.Int64Range(0, int64(time.Millisecond))
		var f Filter
		now, shortest := start, time.Duration(math.MaxInt64)
		for range rapid.IntRange(1, Window).Draw(t, "beats") {
			s := c.beat(now, time.Duration(delay.Draw(t, "there")), time.Duration(delay.Draw(t, "back")))
			if err := f.Add(1, s); err != nil {
				t.Fatal(err)
			}
			// So short a pause that no sample loses its worth by drift.
			now = s.Received + 1000
			shortest = min(shortest, s.roundTrip())
		}
		now += int64(time.Second)
		e, _ := f.Estimate(now)
		// A sample is passed over for a newer one whose round trip is longer
		// by no more than twice the drift that is tolerated meanwhile.
		slack := 2*time.Duration(drift(int64(Window*3*time.Millisecond))) + rounding
		if w := c.wrong(e, now); w > shortest/2+slack {
			t.Fatalf("wrong by %v, shortest round trip %v", w, shortest)
		}
	})
}

// TestClusterTimeIsMonotone: between two instants the cluster's time grows, by
// the time between them give or take the slewing rate.
func TestClusterTimeIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := twoClocks{base: leader, ppm: rapid.Int64Range(-MaxDriftPPM, MaxDriftPPM).Draw(t, "ppm")}
		delay := rapid.Int64Range(0, int64(5*time.Millisecond))
		var f Filter
		now := start
		last, lastAt := int64(0), int64(0)
		for range rapid.IntRange(2, 40).Draw(t, "steps") {
			if lastAt == 0 || rapid.Bool().Draw(t, "beat") {
				s := c.beat(now, time.Duration(delay.Draw(t, "there")), time.Duration(delay.Draw(t, "back")))
				if err := f.Add(1, s); err != nil {
					t.Fatal(err)
				}
				now = s.Received
			}
			e, _ := f.Estimate(now)
			if lastAt != 0 {
				local, cluster := now-lastAt, now+e.Offset-last
				maxSlew := local/(1_000_000/SlewPPM) + 1
				if cluster < 0 || cluster < local-maxSlew || cluster > local+maxSlew {
					t.Fatalf("in %d ns the cluster's time went on by %d", local, cluster)
				}
			}
			last, lastAt = now+e.Offset, now
			now += rapid.Int64Range(1, int64(100*time.Millisecond)).Draw(t, "pause")
		}
	})
}

// TestNewTerm: the first sample of a new leader is another clock, in use at once.
func TestNewTerm(t *testing.T) {
	first, second := twoClocks{base: leader}, twoClocks{base: leader + int64(3*time.Second)}
	var f Filter
	for i := range 5 {
		if err := f.Add(1, first.beat(start+int64(i)*1e6, 10_000, 10_000)); err != nil {
			t.Fatal(err)
		}
	}
	s := second.beat(start+int64(time.Second), 200_000, 400_000)
	if err := f.Add(2, s); err != nil {
		t.Fatal(err)
	}
	e, _ := f.Estimate(s.Received)
	if e.Term != 2 || second.wrong(e, s.Received) > 100*time.Microsecond+rounding {
		t.Errorf("%+v is wrong by %v", e, second.wrong(e, s.Received))
	}
	if err := f.Add(1, first.beat(s.Received, 10_000, 10_000)); !errors.Is(err, ErrOldTerm) {
		t.Errorf("the former leader: %v", err)
	}
}

// TestOutliers: one sample that lies is dropped, and so are two that contradict
// each other; three that agree are the leader's clock that was stepped.
func TestOutliers(t *testing.T) {
	truth := twoClocks{base: leader}
	stepped := twoClocks{base: leader + int64(20*time.Millisecond)}
	var f Filter
	now := start
	add := func(c twoClocks) error {
		s := c.beat(now, 50*time.Microsecond, 50*time.Microsecond)
		now = s.Received + int64(10*time.Millisecond)
		return f.Add(1, s)
	}
	follows := func(c twoClocks) {
		t.Helper()
		e, _ := f.Estimate(now)
		if w := c.wrong(e, now); w > 10*time.Microsecond {
			t.Fatalf("wrong by %v", w)
		}
	}
	steps := []struct {
		clock twoClocks
		want  error
	}{
		{truth, nil},
		{stepped, ErrOutlier},
		{stepped, ErrOutlier},
		{truth, nil},
		{stepped, ErrOutlier},
		{twoClocks{base: leader - 1e8}, ErrOutlier},
		{stepped, ErrOutlier},
		{stepped, ErrOutlier},
	}
	for i, step := range steps {
		if err := add(step.clock); !errors.Is(err, step.want) {
			t.Fatalf("sample %d: %v, want %v", i, err, step.want)
		}
		follows(truth)
	}
	if err := add(stepped); err != nil {
		t.Fatal(err)
	}
	follows(stepped)
}

// TestSilence: without heartbeats the bound grows with the age, and the
// estimate stays.
func TestSilence(t *testing.T) {
	c := twoClocks{base: leader}
	var f Filter
	s := c.beat(start, 50*time.Microsecond, 50*time.Microsecond)
	if err := f.Add(1, s); err != nil {
		t.Fatal(err)
	}
	e, _ := f.Estimate(s.Received + int64(100*time.Second))
	if e.Age != 100*time.Second || e.ErrorBound < 5*time.Millisecond || e.ErrorBound > 6*time.Millisecond {
		t.Errorf("%+v", e)
	}
}

func TestAllocatesNothing(t *testing.T) {
	c := twoClocks{base: leader}
	var f Filter
	now := start
	if n := testing.AllocsPerRun(100, func() {
		_ = f.Add(1, c.beat(now, 1000, 1000))
		now += 1_000_000
		f.Estimate(now)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAdd(b *testing.B) {
	c := twoClocks{base: leader}
	var f Filter
	now := start
	b.ReportAllocs()
	for b.Loop() {
		_ = f.Add(1, c.beat(now, 1000, 1000))
		now += 1_000_000
	}
}

func BenchmarkEstimate(b *testing.B) {
	var f Filter
	_ = f.Add(1, Sample{Sent: start, Arrived: leader, Left: leader, Received: start + 1000})
	now := start + 1000
	b.ReportAllocs()
	for b.Loop() {
		f.Estimate(now)
		now++
	}
}
