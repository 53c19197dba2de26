package ctxswitch

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// neighbours are two jobs that take turns on one CPU. Stopping job 1 takes much of the CPU: all of
// it in its own slice, half of it in that of job 2.
type neighbours struct {
	t    fataler
	m    *Machine
	now  int64
	cost int64

	thawed bool   // job 1 is not ordered to stop
	stop   Effect // the order to job 1 that is not answered, if left > 0
	left   int64  // of the CPU time for that
	theirs bool   // the slice is job 2's
	lost   int64  // by job 2
	ran    int64  // by job 1
	slices int64  // of job 2
}

// run runs the jobs for some rounds.
func (n *neighbours) run(rounds int, slice int64) {
	n.lost, n.ran, n.slices = 0, 0, 0
	for range 2 * rounds {
		end := n.now + slice
		for n.now < end {
			n.step(min(end, max(n.m.Deadline(), n.now+1)))
		}
		n.theirs = !n.theirs
		n.deliver(Tick())
		if n.theirs {
			n.slices += slice
		}
	}
}

// step lets time pass, until an instant or the end of the stop.
func (n *neighbours) step(until int64) {
	speed := int64(1)
	if n.theirs {
		speed = 2
	}
	if n.left > 0 {
		until = min(until, n.now+n.left*speed)
	}
	passed := until - n.now
	n.now = until
	switch {
	case n.left > 0:
		used := min(n.left, (passed+speed-1)/speed)
		n.left -= used
		if n.theirs {
			n.lost += used
		}
		if n.left == 0 {
			n.deliver(Done(n.stop).Costing(time.Duration(n.cost)))
		}
	case n.thawed && !n.theirs:
		n.ran += passed
	}
	n.deliver(Tick())
}

// deliver passes an event to the machine, and carries out what it orders.
func (n *neighbours) deliver(ev Event) {
	n.t.Helper()
	var answers []Event
	for _, e := range n.m.Handle(n.now, ev) {
		switch {
		case e.Kind == EffectThaw && e.Job == 1:
			if n.left > 0 {
				answers = append(answers, StopCost(1, time.Duration(n.cost-n.left)))
			}
			n.thawed, n.left = true, 0
			answers = append(answers, Done(e))
		case e.Kind == EffectFreeze && e.Job == 1:
			n.thawed, n.left, n.stop = false, n.cost, e
		case e.Step != Steady:
			answers = append(answers, Done(e))
		}
	}
	checkInvariants(n.t, n.m, n.now)
	for _, answer := range answers {
		n.deliver(answer)
	}
}

// TestCostlyStopsCostTheirJob: whatever it costs to stop a job, the job beside it keeps its time,
// and a job whose slice is long enough keeps what is left of it.
func TestCostlyStopsCostTheirJob(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slice := rapid.Int64Range(int64(time.Millisecond), int64(200*time.Millisecond)).Draw(t, "slice")
		cost := rapid.Int64Range(1, 3*slice).Draw(t, "cost")
		n := &neighbours{t: t, m: New(Config{}), now: int64(time.Second), cost: cost, thawed: true}
		for _, ev := range []Event{
			OffsetChanged(1, 0), JobAdopted(1, 0, false), JobAdopted(2, 0, true),
			PlanArrived(&Plan{Term: 1, Version: 1, Origin: n.now, Rows: []Row{
				{Slice: time.Duration(slice), Jobs: []JobID{1}}, {Slice: time.Duration(slice), Jobs: []JobID{2}},
			}}),
		} {
			n.deliver(ev)
		}
		n.run(10, slice) // the machine learns
		n.run(100, slice)
		allowed := n.slices/8 + int64(minStopCost)*100 // a tenth, and rounds that are not over
		if time.Duration(cost) < minStopCost {
			allowed = cost * 101
		}
		if n.lost > allowed {
			t.Errorf("slices of %v, a stop of %v: the other job lost %v of %v",
				time.Duration(slice), time.Duration(cost), time.Duration(n.lost), time.Duration(n.slices))
		}
		if cost < slice/2 && n.ran < n.slices-100*(cost+cost/2) {
			t.Errorf("slices of %v, a stop of %v: its job ran %v of %v",
				time.Duration(slice), time.Duration(cost), time.Duration(n.ran), time.Duration(n.slices))
		}
	})
}
