package leader

import (
	"score/scored/api/agentpb"
	"slices"
	"testing"
)

// A host is contended for a job's output if other users' jobs have CPUs there in the job's slices,
// and few are left.
func TestContendedHost(t *testing.T) {
	const ada, bob = 7, 8
	for _, test := range []struct {
		name          string
		cpus          uint32
		tasks, beside uint32
		besideOf      uint32 // the other job's user
		hostCPUs      int    // CPUs of the host
		want          int    // CPUs of the crowded host; 0: it is none
	}{
		{"beside each other", 2, 1, 1, bob, 0, 2},
		{"beside a job of the same user", 2, 1, 1, ada, 0, 0},
		{"alone", 2, 1, 0, bob, 0, 0},
		{"in turns", 2, 2, 2, bob, 0, 0},
		{"with CPUs to spare", 8, 1, 1, bob, 0, 0},
		{"on a full node", 8, 2, 6, bob, 0, 8},
		{"nodes that share CPUs", 8, 1, 1, bob, 2, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.connect(hello("n1", test.cpus))
			id := runs(t, w, ada, test.tasks)
			if test.beside > 0 {
				runs(t, w, test.besideOf, test.beside)
			}
			host := hostOf(w.b.nodes["n1"].address)
			hosts := []Host{{Name: "elsewhere", CPUs: 1}, {Name: host, CPUs: test.hostCPUs}}
			got := w.b.contended(w.b.jobs[id], hosts, func(host string) string { return host })
			var want []Host
			if test.want > 0 {
				want = []Host{{Name: host, CPUs: test.want}}
			}
			if !slices.Equal(got, want) {
				t.Errorf("crowded are %v, want %v", got, want)
			}
		})
	}
}

// runs submits a user's job of so many ranks for the one node, and starts it.
func runs(t *testing.T, w *world, uid, tasks uint32) uint64 {
	t.Helper()
	id := w.submitAs(uid, jobSpec(tasks))
	for _, m := range []*agentpb.AgentMessage{prepared(id), launched(id, w.b.now)} {
		w.receive("n1", m)
	}
	if j := w.b.jobs[id]; j == nil || j.state != running {
		t.Fatalf("job %d does not run", id)
	}
	return id
}
