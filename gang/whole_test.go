package gang

import (
	"math"
	"testing"
	"time"
)

// TestMachineAndRotation runs both together for long, with jobs that come, are prepared, run and
// end: each job has its first turn soon after it is ready, gets the share Explain tells, and is
// never told apart from its gang.
func TestMachineAndRotation(t *testing.T) {
	for seed := range uint64(20) {
		w := &whole{sim: drawSim(seeded(seed)), ready: make(map[JobID]int64), first: make(map[JobID]int64)}
		for id := JobID(1); id <= 150; id++ {
			w.arrive(t, seeded(seed*1000+uint64(id)), id)
		}
	}
}

// whole is a cluster with its clock: the machine, the rotation made of its rows, and who has run.
type whole struct {
	*sim
	rot   Rotation
	plans dispatcher
	ready map[JobID]int64
	first map[JobID]int64
}

const wholeLead = 2 * time.Millisecond

func (w *whole) arrive(t tb, draw draw, id JobID) {
	t.Helper()
	w.submit(load(draw, id, draw(2) == 0))
	for _, a := range w.schedule(t).Start {
		w.m.SetIdle(a.Job, true)
	}
	w.replan(t)
	w.goOn(t, int64(time.Millisecond)*int64(1+draw(50)))
	for _, job := range w.running() {
		if w.m.SetIdle(job, false); w.ready[job] == 0 {
			w.ready[job] = w.now
		}
	}
	w.replan(t)
	w.goOn(t, int64(time.Millisecond)*int64(1+draw(3000)))
	if ids := w.running(); len(ids) > 0 && draw(3) > 0 {
		job := ids[draw(len(ids))]
		w.checkFirst(t, job)
		delete(w.left, job)
		w.m.Remove(job)
	}
}

func (w *whole) replan(t tb) {
	t.Helper()
	rows := w.m.Rows()
	if w.rot.Has(rows) {
		return
	}
	w.rot = Next(w.rot, rows, w.now, wholeLead)
	if !w.rot.Has(rows) {
		t.Fatalf("%+v is not made of %+v", w.rot, rows)
	}
	w.plans.plans = append(w.plans.plans, w.rot)
}

// goOn passes time, and notes who runs.
func (w *whole) goOn(t tb, pause int64) {
	t.Helper()
	for end := w.now + pause; w.now < end; {
		next := end
		for i := range w.plans.plans {
			if o := w.plans.plans[i].Origin; o > w.now {
				next = min(next, o)
			}
		}
		r := w.plans.inForce(w.now)
		if r == nil {
			w.now = next
			continue
		}
		if pos, _, sliceEnd, _ := r.At(w.now); pos >= 0 {
			next = min(next, sliceEnd)
			for _, job := range r.Rows[pos].Jobs {
				if w.first[job] == 0 {
					w.first[job] = w.now
				}
			}
		}
		w.now = next
	}
}

// checkFirst: the job waited for its first turn no longer than all rows can hold it up.
func (w *whole) checkFirst(t tb, job JobID) {
	t.Helper()
	cfg := w.m.cfg
	bound := int64(wholeLead) + int64(cfg.MaxRows+2)*maxUrgency*int64(cfg.Slice)
	first := w.first[job]
	if first == 0 {
		first = w.now
	}
	if first-w.ready[job] > bound {
		t.Fatalf("job %d was ready at %v and first ran at %v", job, time.Duration(w.ready[job]), time.Duration(first))
	}
}

// TestShares: a job's share of whole rounds of the rotation is what Explain says.
func TestShares(t *testing.T) {
	for seed := range uint64(20) {
		draw := seeded(seed)
		s := drawSim(draw)
		for id := range JobID(12) {
			s.submit(load(draw, id+1, false))
		}
		s.schedule(t)
		rot := Next(Rotation{}, s.m.Rows(), 0, 0)
		for _, job := range s.running() {
			ran := int64(0)
			for at := rot.Origin; at < rot.Origin+rot.Period(); {
				pos, _, end, _ := rot.At(at)
				end = min(end, rot.Origin+rot.Period())
				if rot.Rows[pos].runs(job) {
					ran += end - at
				}
				at = end
			}
			e, _ := s.m.Explain(job, 0)
			if share := float64(ran) / float64(rot.Period()); math.Abs(share-e.Share) > 1e-9 || share == 0 {
				t.Errorf("job %d runs %.3f of the time, explained as %.3f", job, share, e.Share)
			}
		}
	}
}
