package leader

import (
	"score/gang"
	"score/scored/api/agentpb"
	"slices"
	"testing"
)

// TestPlanForManyNodes: every node gets one message with all rows and its own jobs, in time for the
// plan.
func TestPlanForManyNodes(t *testing.T) {
	const nodes, size, rows = 64, 8, 4
	b := benchController(t, nodes, size, rows)
	b.replan()
	if got, want := b.rotation.Origin-b.now, PlanLead(nodes).Nanoseconds(); got != want {
		t.Errorf("the plan begins after %d ns, want %d", got, want)
	}
	if len(b.effects) != nodes {
		t.Fatalf("%d messages, want %d", len(b.effects), nodes)
	}
	plans := make(map[Link]*agentpb.Plan)
	for _, e := range b.effects {
		plans[e.link] = e.message.GetPlan()
	}
	for name, n := range b.nodes {
		plan := plans[n.link]
		if len(plan.GetRows()) != rows {
			t.Fatalf("%s gets %v", name, plan)
		}
		for pos, jobs := range b.share(n) {
			row := plan.GetRows()[pos]
			same := slices.EqualFunc(row.GetJobs(), jobs, func(got uint64, want gang.JobID) bool { return got == uint64(want) })
			if !same || len(jobs) != 1 || int(row.GetIndex()) != b.rotation.Rows[pos].Index {
				t.Errorf("%s has %v in row %d, and gets %v", name, jobs, pos, row)
			}
		}
	}
}

// TestPlanEndsWhereNothingRuns: a node whose last job has left gets one more plan, and a node
// without jobs gets none.
func TestPlanEndsWhereNothingRuns(t *testing.T) {
	b := benchController(t, 16, 8, 1)
	b.replan()
	b.effects = nil
	gone := b.jobs[2].parts[0].Node
	b.gang.Remove(2)
	delete(b.jobs, 2)
	for range 2 {
		b.replan()
	}
	if len(b.effects) != 16 {
		t.Fatalf("%d messages, want one for every node that was in either plan", len(b.effects))
	}
	if n := b.nodes[gone]; n.planned || b.share(n) != nil {
		t.Errorf("%s still has a part: %v", gone, b.share(n))
	}
}
