package gang

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// sim runs jobs through a machine in fluid time: a job's work gets done at the rate of its
// share of the rotation, and it ends when all is done, which is within its limit.
type sim struct {
	m    *Machine
	now  int64
	left map[JobID]time.Duration // work left of running jobs
	work map[JobID]time.Duration

	overtaken int // starts behind a waiting head
}

func newSim(cfg Config, nodes []Node) *sim {
	s := &sim{m: New(cfg), left: make(map[JobID]time.Duration), work: make(map[JobID]time.Duration)}
	for _, n := range nodes {
		if err := s.m.AddNode(n); err != nil {
			panic(err)
		}
	}
	return s
}

func (s *sim) submit(r Request, work time.Duration) {
	r.Submitted = s.now
	if s.m.Submit(r) == nil {
		s.work[r.ID] = work
	}
}

func (s *sim) schedule(t tb) Decision {
	head := s.m.head.job
	d := pass(t, s.m, s.now)
	for _, a := range d.Start {
		s.left[a.Job] = s.work[a.Job]
		if head != nil && s.m.head.job == head && a.Job > head.req.ID {
			s.overtaken++
		}
	}
	return d
}

// advance moves time to the next end of a job, but at most to until, and takes out
// those that have ended.
func (s *sim) advance(until int64) {
	rate := make(map[JobID]float64)
	step := until - s.now
	for _, id := range s.running() {
		e, _ := s.m.Explain(id, s.now)
		rate[id] = e.Share
		step = min(step, int64(float64(s.left[id])/e.Share)+1)
	}
	s.now += step
	for _, id := range s.running() {
		s.left[id] -= time.Duration(float64(step) * rate[id])
		if s.left[id] <= 1 {
			delete(s.left, id)
			s.m.Remove(id)
		}
	}
}

func (s *sim) running() []JobID {
	ids := make([]JobID, 0, len(s.left))
	for id := range s.left {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// draw returns a number from 0 to n-1.
type draw func(n int) int

func drawn(t *rapid.T) draw {
	return func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "n") }
}

func seeded(seed uint64) draw { return rand.New(rand.NewPCG(seed, 1)).IntN }

// load draws a job small enough for most clusters of the tests; ids and arrival are in queue order.
func load(draw draw, id JobID, limits bool) (Request, time.Duration) {
	r := Request{
		ID:         id,
		Tasks:      1 + draw(6),
		MemPerNode: int64(draw(9)),
		Exclusive:  draw(10) == 9,
		Channels:   max(0, draw(4)-1),
		Priority:   []int{0, 100, 300}[draw(3)],
		Owner:      OwnerID(draw(3)),
	}
	if draw(2) == 1 {
		r.Nodes = 1 + draw(min(r.Tasks, 3))
	}
	limit := time.Duration(1+draw(60)) * time.Second
	work := limit
	if draw(2) == 1 {
		work = limit / time.Duration(2+draw(9))
	}
	if limits {
		r.TimeLimit = limit
	}
	return r, work
}

// drawSim makes a small cluster, in which priority gives weight but hardly any precedence, and
// owners' shares do, too.
func drawSim(draw draw) *sim {
	nodes := make([]Node, 1+draw(3))
	for i := range nodes {
		nodes[i] = Node{ID: NodeID(fmt.Sprint("n", i)), CPUs: 4, Memory: 8, Channels: 4 + draw(9)}
	}
	s := newSim(Config{MaxRows: 1 + draw(4), AgePerPoint: 1}, nodes)
	s.m.SetOwners(map[OwnerID]Owner{1: {Share: 30}, 2: {Share: 250}})
	return s
}

// run submits jobs in bursts and calls check after every pass, until all have ended.
func (s *sim) run(t tb, draw draw, jobs int, limits bool, check func(Decision)) {
	t.Helper()
	for id := 1; id <= jobs || len(s.left) > 0; {
		for range draw(5) {
			if id <= jobs {
				s.submit(load(draw, JobID(id), limits))
				id++
			}
		}
		check(s.schedule(t))
		s.advance(s.now + int64(time.Second)*int64(1+draw(20)))
	}
	check(s.schedule(t))
	if s.m.Waiting() > 0 && s.m.Running() == 0 {
		t.Fatalf("%d jobs wait for nothing", s.m.Waiting())
	}
}

// simulate runs test on small simulations that rapid draws and can shrink, and on long ones
// by seed. It fails if nothing was ever overtaken, since then nothing was tested.
func simulate(t *testing.T, test func(t tb, draw draw, jobs int) (overtaken int)) {
	overtaken := 0
	rapid.Check(t, func(t *rapid.T) {
		overtaken += test(t, drawn(t), rapid.IntRange(5, 40).Draw(t, "jobs"))
	})
	for seed := range uint64(30) {
		overtaken += test(t, seeded(seed), 200)
	}
	if overtaken < 100 {
		t.Fatalf("only %d jobs overtook", overtaken)
	}
}

// slack is what rounding to nanoseconds may add up to over a simulation.
const slack = int64(time.Millisecond)

// TestHeadIsNotDelayed: whatever overtakes, the job that waits first starts by the time promised
// when it became the first, as long as all keep their limits.
func TestHeadIsNotDelayed(t *testing.T) {
	simulate(t, func(t tb, draw draw, jobs int) int {
		s := drawSim(draw)
		promised := make(map[JobID]int64)
		s.run(t, draw, jobs, true, func(d Decision) {
			for _, a := range d.Start {
				if by, ok := promised[a.Job]; ok && s.now > by+slack {
					t.Fatalf("job %d was promised %v, starts at %v", a.Job, time.Duration(by), time.Duration(s.now))
				}
			}
			h := s.m.head
			if h.job == nil {
				return
			}
			if h.promise == 0 {
				t.Fatalf("no promise for job %d though all have limits", h.job.req.ID)
			}
			if _, ok := promised[h.job.req.ID]; !ok {
				promised[h.job.req.ID] = h.promise
			}
		})
		return s.overtaken
	})
}

// TestKeptFitEmpties: without limits, the head starts at the latest when all gangs that
// ran on the nodes kept for it have ended.
func TestKeptFitEmpties(t *testing.T) {
	simulate(t, func(t tb, draw draw, jobs int) int {
		s := drawSim(draw)
		var head *job
		var before []*gang // on the kept nodes when the fit was chosen
		s.run(t, draw, jobs, false, func(Decision) {
			if s.m.head.job != head {
				head, before = s.m.head.job, gangsAtKept(s.m)
			}
			placed := func(ga *gang) bool { return slices.Contains(s.m.gangs, ga) }
			if head != nil && !slices.ContainsFunc(before, placed) {
				t.Fatalf("the spot kept for job %d is free, but it waits:\n%v", head.req.ID, s.m.Matrix())
			}
		})
		return s.overtaken
	})
}

// gangsAtKept lists the gangs on the nodes of the kept fit.
func gangsAtKept(m *Machine) []*gang {
	if m.head.kept == nil {
		return nil
	}
	var list []*gang
	for _, ga := range m.gangs {
		for _, s := range m.head.kept.nodeShares {
			if ga.cpusOn(s.node.pos) != nil {
				list = append(list, ga)
				break
			}
		}
	}
	return list
}

// TestNobodyStarves: every job that is taken gets its turn, however many smaller ones keep coming.
func TestNobodyStarves(t *testing.T) {
	s := newSim(Config{MaxRows: 2}, []Node{{ID: "a", CPUs: 4, Memory: 8}, {ID: "b", CPUs: 4, Memory: 8}})
	rng := rand.New(rand.NewPCG(1, 1))
	id := JobID(0)
	small := func() {
		id++
		s.submit(Request{ID: id, Tasks: 1 + rng.IntN(2), MemPerNode: int64(rng.IntN(3))}, time.Second)
	}
	for range 6 {
		small()
	}
	s.schedule(t)
	id++
	big := id
	s.submit(Request{ID: big, Tasks: 2, Nodes: 2, MemPerNode: 8, Exclusive: true}, time.Second)
	for range 200 {
		small()
		s.schedule(t)
		if _, ok := s.m.Allocation(big); ok {
			return
		}
		s.advance(s.now + int64(300*time.Millisecond))
	}
	t.Fatalf("the big job still waits at %v:\n%v", time.Duration(s.now), s.m.Matrix())
}

func TestSaturation(t *testing.T) {
	if got := satMul(1<<62, 4); got != noLimit {
		t.Errorf("satMul: %d", got)
	}
	if got := satAdd(noLimit, 5); got != noLimit {
		t.Errorf("satAdd: %d", got)
	}
	if got := satAdd(satMul(3, 4), 5); got != 17 {
		t.Errorf("3*4+5 = %d", got)
	}
	if got := mulDiv(1<<63, 1<<40, 1<<41); got != 1<<62 {
		t.Errorf("mulDiv: %d", got)
	}
}
