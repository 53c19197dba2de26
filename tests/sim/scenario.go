package sim

import (
	"score/flowctl"
	"time"
)

// Bounds of the worlds.
const (
	maxNodes    = 8
	maxJobs     = 3
	maxChannels = 2
	maxRanks    = 6
	maxMessages = 80 // per flow; some thousand frames make a world
	socketCap   = 64 // frames that wait for a context without a driver
)

// faults are the probabilities of the network, in permille.
type faults struct {
	loss, duplicate, reorder, corrupt int
	stray                             int   // a copy goes to any end, of any job
	delay, jitter                     int64 // ns
}

// scenario is a world before it runs, drawn from its seed.
type scenario struct {
	nodes   int
	jobs    []jobPlan
	flow    flowctl.Config
	faults  faults
	ordered bool  // paths between nodes keep order
	calm    int64 // when all faults end
	slice   int64 // 0: all jobs run all the time
	skew    []int64
}

// jobPlan is one job: its channels and where its ranks are.
type jobPlan struct {
	channels int
	nodes    []int // by rank
	spec     Spec  // of all its contexts, but for channel and rank
}

// draw makes a scenario.
func draw(r *rng) scenario {
	s := scenario{
		nodes:   r.between(2, maxNodes),
		ordered: r.chance(333),
		calm:    r.span(int64(5*time.Millisecond), int64(60*time.Millisecond)),
		faults: faults{
			loss: r.maybe(300), duplicate: r.maybe(500), reorder: r.maybe(500), corrupt: r.maybe(100), stray: r.maybe(50),
			delay:  r.span(500, int64(50*time.Microsecond)),
			jitter: r.span(0, int64(100*time.Microsecond)),
		},
	}
	if s.ordered {
		s.faults.reorder = 0
	}
	for range r.between(1, maxJobs) {
		s.jobs = append(s.jobs, drawJob(r, s.nodes))
	}
	s.flow = drawFlow(r)
	for i := range s.jobs {
		s.jobs[i].spec = drawSpec(r, &s.flow, i, len(s.jobs[i].nodes))
	}
	if len(s.jobs) > 1 && r.chance(400) {
		s.slice = r.span(int64(time.Millisecond), int64(20*time.Millisecond))
		limit := int(min(s.slice/2, int64(5*time.Millisecond)))
		for range s.nodes {
			s.skew = append(s.skew, int64(r.between(0, limit)))
		}
	}
	return s
}

// drawJob places a job's ranks.
func drawJob(r *rng, nodes int) jobPlan {
	j := jobPlan{channels: r.between(1, maxChannels)}
	for range r.between(2, maxRanks) {
		j.nodes = append(j.nodes, r.below(nodes))
	}
	return j
}

// drawFlow draws the settings of flow control, small windows more often than
// good ones, since trouble lives there.
func drawFlow(r *rng) flowctl.Config {
	c := flowctl.DefaultConfig()
	c.MinWindow = pick[uint16](r, 1, 2, 2)
	c.InitialWindow = pick[uint16](r, 2, 4, 32)
	c.MaxWindow = max(c.InitialWindow, pick[uint16](r, 2, 8, 64, 256))
	c.AckEvery = pick[uint16](r, 1, 4, 16)
	if r.chance(250) {
		c.Policy = flowctl.Credits{Initial: pick[uint16](r, 1, 2, 4), Chunk: pick[uint16](r, 1, 8)}
	}
	return c
}

// drawSpec draws a job's buffers. First frames lie before the wrap of the
// sequence numbers in half of the worlds.
func drawSpec(r *rng, flow *flowctl.Config, job, ranks int) Spec {
	s := Spec{
		Job: uint16(job), Ranks: uint16(ranks), Flow: flow,
		SendCap:  1 << r.between(1, 6),
		InboxCap: r.between(2, 64),
	}
	if r.chance(500) {
		s.First = -flowctl.Seq(r.between(1, maxMessages))
	}
	if p, ok := flow.Policy.(flowctl.Credits); ok {
		s.InboxCap += ranks * int(p.Initial)
	}
	return s
}
