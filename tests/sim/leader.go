package sim

import (
	"score/ctxswitch"
	"score/gang"
	"slices"
	"time"
)

// Times of the control plane, in ns.
const (
	planLead  = int64(2 * time.Millisecond) // see scored/leader
	planLate  = int64(time.Millisecond)     // a message's way to an agent, at most
	planVery  = int64(20 * time.Millisecond)
	prepare   = int64(time.Millisecond)
	clockBase = int64(100 * time.Second) // the first leader's clock
	clockJump = int64(20 * time.Second)  // by which leaders' clocks differ
)

// leader has the gang matrix and makes the plans.
type leader struct {
	gang     *gang.Machine
	term     uint64
	ahead    int64 // its clock, minus the world's
	since    int64 // it leads
	rotation gang.Rotation
	planTime int64
	history  []gang.Rotation // all plans of its term
}

// sentPlan is a plan on its way to a node.
type sentPlan struct {
	plan  ctxswitch.Plan
	ahead int64 // the clock of its leader
}

// lead begins a leader's term.
func (k *cluster) lead() {
	k.gang = gang.New(gang.Config{Slice: time.Duration(k.plan.slice)})
	k.term, k.ahead, k.since = 1, clockBase, k.w.now
	k.rotation = gang.Rotation{Term: 1}
}

// now returns the time by the leader's clock.
func (k *cluster) now() int64 { return k.w.now + k.ahead }

// submit has a job come.
func (k *cluster) submit(id int) {
	request := k.drawProgram(id)
	if err := k.gang.Submit(request); err != nil {
		panic(err) // it fits the cluster
	}
	k.place()
}

// place starts what there is room for, and changes the plan.
func (k *cluster) place() {
	for _, a := range k.gang.Schedule(k.now()).Start {
		k.gang.SetIdle(a.Job, true)
		k.prepare(a)
	}
	k.replan()
}

// prepared lets a gang run whose nodes are all prepared.
func (k *cluster) prepared(p *program) {
	if p.over {
		return
	}
	k.gang.SetIdle(p.id, false)
	k.replan()
}

// ended handles the end of a job at the leader.
func (k *cluster) ended(p *program) {
	k.gang.Remove(p.id)
	k.place()
}

// replan makes and sends the next plan if the rows have changed, as scored/leader does.
func (k *cluster) replan() {
	rows := k.gang.Rows()
	if k.rotation.Has(rows) {
		return
	}
	lead := planLead
	if len(rows) <= 1 && len(k.rotation.Rows) <= 1 {
		lead = 0
	}
	k.planTime = max(k.planTime, k.now()+lead)
	k.rotation = gang.Next(k.rotation, rows, k.now(), time.Duration(k.planTime-k.now()))
	if k.rotation.Origin-k.now() <= k.plan.skew+planLate {
		// Whose clock is ahead may have gone on with the plan before.
		for _, h := range k.hosts {
			h.disturb(k.rotation.Origin - k.ahead + k.tolerance())
		}
	}
	k.history = append(k.history, k.rotation)
	for _, h := range k.hosts {
		k.sendPlan(h)
	}
}

// change makes another server the leader, with a clock of its own.
func (k *cluster) change() {
	k.term++
	k.ahead = clockBase + k.dicePad.span(0, clockJump)
	k.since, k.planTime = k.w.now, 0
	k.rotation, k.history = gang.Rotation{Term: k.term}, nil
	for _, h := range k.hosts {
		h.disturb(k.w.now + k.rotation.Period() + planVery)
	}
	k.replan()
}

// sendPlan sends a node its part of the plan; messages keep their order.
func (k *cluster) sendPlan(h *host) {
	w := k.w
	plan := ctxswitch.Plan{Term: k.term, Version: k.rotation.Version, Origin: k.rotation.Origin}
	for _, row := range k.rotation.Rows {
		r := ctxswitch.Row{Index: row.Index, Slice: row.Slice}
		for _, id := range row.Jobs {
			if p := k.jobOf(id); p != nil && p.on(h) != nil {
				r.Jobs = append(r.Jobs, ctxswitch.JobID(id))
			}
		}
		plan.Rows = append(plan.Rows, r)
	}
	k.sent = append(k.sent, sentPlan{plan: plan, ahead: k.ahead})
	late := w.rng.span(int64(20*time.Microsecond), planLate)
	if !w.calmed && w.rng.chance(k.plan.latePlan) {
		late = w.rng.span(0, planVery)
	}
	h.heardAt = max(h.heardAt, w.now+late)
	if h.heardAt > w.now+planLate {
		h.disturb(h.heardAt + k.tolerance())
	}
	w.queue.add(h.heardAt, evPlan, int32(len(k.sent)-1), uint16(h.index))
}

func (k *cluster) jobOf(id gang.JobID) *program {
	i := slices.IndexFunc(k.jobs, func(p *program) bool { return p.id == id })
	if i < 0 {
		return nil
	}
	return k.jobs[i]
}

// inForce is the plan that is in force at an instant of the leader's clock; nil: none of its term.
func (k *cluster) inForce(t int64) *gang.Rotation {
	for i := len(k.history) - 1; i >= 0; i-- {
		if k.history[i].Origin <= t {
			return &k.history[i]
		}
	}
	return nil
}
