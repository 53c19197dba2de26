package leader

import (
	"errors"
	"fmt"
	"score/gang"
	"score/scored/api/agentpb"
	"score/scored/api/environ"
	"score/scored/api/protocol"
	"score/scored/api/scorev1"
	"score/scored/state"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
)

// spawner returns a world in which job 1 of ada runs on a node of two CPUs and 1 GiB.
func spawner(t *testing.T, version uint32, spec *scorev1.JobSpec, limits *scorev1.UserLimits, fields ...string) *world {
	t.Helper()
	w := newWorldIn(t, version)
	w.connect(hello("n1", 2))
	if len(fields) > 0 {
		if _, err := w.b.setUser(7, "ada", &scorev1.User{Limits: limits}, fields); err != nil {
			t.Fatal(err)
		}
		w.settle()
	}
	id, err := w.submit(spec)
	if err != nil {
		t.Fatal(err)
	}
	w.start(id)
	return w
}

func (w *world) start(id uint64) {
	w.t.Helper()
	w.receive("n1", prepared(id))
	w.receive("n1", launched(id, w.b.now))
	if w.b.jobs[id].state != running {
		w.t.Fatalf("job %d is %v", id, w.b.jobs[id].state)
	}
}

// spawns makes a running job spawn a job of one task.
func (w *world) spawns(parent uint64, app *agentpb.SpawnApp) (*job, error) {
	w.t.Helper()
	child, err := w.b.child(w.b.jobs[parent], state.NameRequest{}, &agentpb.SpawnRequest{JobId: parent, Apps: []*agentpb.SpawnApp{app}})
	w.settle()
	return child, err
}

var oneTask = &agentpb.SpawnApp{Program: "child", Tasks: 1}

// TestChildrenCountForTheUser: a user who may have two jobs has one that spawns one. Another job
// can be submitted when that has ended.
func TestChildrenCountForTheUser(t *testing.T) {
	w := spawner(t, protocol.Own().Newest, jobSpec(1), &scorev1.UserLimits{Jobs: 2}, "jobs")
	child, err := w.spawns(1, oneTask)
	if err != nil {
		t.Fatal(err)
	}
	w.start(child.id)
	for _, parent := range []uint64{1, child.id} {
		if _, err := w.spawns(
			parent,
			oneTask,
		); !errors.Is(err, ErrImpossible) ||
			!strings.Contains(err.Error(), "2 of your jobs wait or run already, with those that jobs spawn, and you may have 2") {
			t.Errorf("a third job, spawned by %d: %v", parent, err)
		}
	}
	w.restart()
	w.connect(hello("n1", 2, 1, child.id))
	if _, err := w.spawns(1, oneTask); !errors.Is(err, ErrImpossible) {
		t.Errorf("a third job under the next leader: %v", err)
	}
	w.receive("n1", exits(&agentpb.RankExited{JobId: child.id}))
	w.receive("n1", nodeDone(child.id))
	if _, err := w.spawns(1, oneTask); err != nil {
		t.Errorf("after the end of one: %v", err)
	}
}

// TestSpawnsAreForgotten: a program that spawns for days takes no more of the leader's memory, and
// what was spawned last is still known if its node asks again.
func TestSpawnsAreForgotten(t *testing.T) {
	w := spawner(t, protocol.Own().Newest, jobSpec(1), nil)
	w.quiet = true
	spawn := func(request uint64) {
		m := &agentpb.SpawnRequest{JobId: 1, Request: request, Apps: []*agentpb.SpawnApp{oneTask}}
		w.receive("n1", &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Spawn{Spawn: m}})
	}
	parent := w.b.jobs[1]
	const earlier = 2 * maxSpawnsKept
	for request := range uint64(earlier) {
		parent.spawned.add(spawnKey{"n1", request}, 1000+request)
	}
	spawn(earlier)
	if kept := len(parent.spawned.byRequest); kept != maxSpawnsKept || len(parent.spawned.order) != kept {
		t.Errorf("%d spawns are kept", kept)
	}
	next := w.b.nextJob
	for again := uint64(earlier - maxChildren); again <= earlier; again++ {
		spawn(again)
	}
	if w.b.nextJob != next {
		t.Error("a repeated request has spawned another job")
	}
}

// TestChildrenHaveABound: the number of spawned jobs of a program is bounded, whichever of its jobs
// spawns them.
func TestChildrenHaveABound(t *testing.T) {
	w := spawner(t, protocol.Own().Newest, jobSpec(1), nil)
	w.quiet = true
	root := w.b.jobs[1]
	for i := range maxChildren {
		root.children = append(root.children, &job{id: uint64(1000 + i), parents: 1, parent: root, attempt: newAttempt()})
	}
	if _, err := w.spawns(1, oneTask); !errors.Is(err, ErrImpossible) || !strings.Contains(err.Error(), fmt.Sprint("has spawned ", maxChildren, " jobs")) {
		t.Errorf("one more: %v", err)
	}
	root.children = root.children[1:]
	if _, err := w.spawns(1, oneTask); err != nil {
		t.Errorf("when one has ended: %v", err)
	}
	root.children = root.children[maxChildren-1:]
}

// An attached client and the log see why a spawn was refused, once for each reason.
func TestRefusedSpawnIsTold(t *testing.T) {
	w := spawner(t, protocol.Own().Newest, jobSpec(1), &scorev1.UserLimits{Jobs: 1}, "jobs")
	for i := range 3 {
		w.b.spawn(w.b.nodes["n1"], &agentpb.SpawnRequest{JobId: 1, Request: uint64(i + 1), Apps: []*agentpb.SpawnApp{oneTask}})
	}
	if n := logged(w.b, "spawn refused"); n != 1 {
		t.Errorf("%d lines of the log", n)
	}
	w.settle()
	notes := w.b.jobs[1].notes
	if len(notes) != 1 || !strings.HasPrefix(notes[0], "a spawn was refused: ") || !strings.Contains(notes[0], "you may have 1") {
		t.Errorf("notes %q", notes)
	}
}

// A program that causes another reason each time fills neither the log nor the controller.
func TestReasonsOfRefusedSpawnsAreBounded(t *testing.T) {
	w := spawner(t, protocol.Own().Newest, jobSpec(1), nil)
	for i := range 3 * maxNotes {
		app := &agentpb.SpawnApp{Program: "child", Tasks: 1<<30 + uint32(i)}
		w.b.spawn(w.b.nodes["n1"], &agentpb.SpawnRequest{JobId: 1, Request: uint64(i + 1), Apps: []*agentpb.SpawnApp{app}})
	}
	if lines, notes := logged(w.b, "spawn refused"), len(w.b.jobs[1].notes); lines != maxNotes || notes != maxNotes {
		t.Errorf("%d lines of the log, and %d notes, not %d: %q", lines, notes, maxNotes, w.b.jobs[1].notes)
	}
	w.settle()
}

// logged counts the lines of the log that wait for their turn.
func logged(c *controller, line string) (n int) {
	for i := range c.effects {
		if c.effects[i].line == line {
			n++
		}
	}
	return n
}

// TestChildrenHaveMemoryOfTheirOwn: memory promised to a program and its children is taken from the
// node, and stays within the user's limit there.
func TestChildrenHaveMemoryOfTheirOwn(t *testing.T) {
	for name, test := range map[string]struct {
		asked, limit uint64 // by the job, and of the user; 0: nothing said
		promised     int64  // to all together, at the end
	}{
		"the default":  {0, 0, 1 << 30},
		"a third":      {300 << 20, 0, 1 << 30},
		"within limit": {0, 100 << 20, 100 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			spec := jobSpec(1)
			spec.MemoryPerNodeBytes = test.asked
			w := spawner(t, protocol.Own().Newest, spec, &scorev1.UserLimits{MemoryPerNodeBytes: test.limit}, "memory")
			var refusal error
			for refusal == nil {
				var child *job
				if child, refusal = w.spawns(1, oneTask); refusal == nil {
					w.start(child.id)
				}
			}
			if !errors.Is(refusal, ErrImpossible) || !strings.Contains(refusal.Error(), "on each node") {
				t.Errorf("refused with %v", refusal)
			}
			sum := int64(0)
			for _, j := range w.b.jobs {
				if limit := w.b.memoryLimit(j); limit != j.memory || limit <= 0 || limit > w.b.jobs[1].memory {
					t.Errorf("job %d of %d bytes has a limit of %d", j.id, j.memory, limit)
				}
				sum += j.memory
			}
			if sum > test.promised || sum < test.promised/2 {
				t.Errorf("%d jobs are promised %d bytes, want nearly %d", len(w.b.jobs), sum, test.promised)
			}
		})
	}
}

// TestChildrenAtOnceDoNotWait: of jobs that are spawned at the same time, those for which there is
// no room beside the others are refused. They must not wait, since their parent waits for them.
func TestChildrenAtOnceDoNotWait(t *testing.T) {
	spec := jobSpec(1)
	spec.MemoryPerNodeBytes = 400 << 20
	w := spawner(t, protocol.Own().Newest, spec, nil)
	request := &agentpb.SpawnRequest{JobId: 1, Apps: []*agentpb.SpawnApp{oneTask}}
	spawned := 0
	var err error
	for ; err == nil; spawned++ {
		_, err = w.b.child(w.b.jobs[1], state.NameRequest{}, request)
	}
	if spawned < 2 || !errors.Is(err, gang.ErrTooMuchMemory) {
		t.Errorf("spawn %d: %v", spawned, err)
	}
	w.settle()
	if n := w.b.gang.Waiting(); n != 0 {
		t.Errorf("%d of %d jobs wait", n, spawned)
	}
}

// TestChildrenHaveNoMoreCPUs: a job spawned by a job whose user has reached the limit of CPUs runs
// on its parent's.
func TestChildrenHaveNoMoreCPUs(t *testing.T) {
	w := spawner(t, protocol.Own().Newest, jobSpec(1), &scorev1.UserLimits{Cpus: 1}, "cpus")
	child, err := w.spawns(1, oneTask)
	if err != nil {
		t.Fatal(err)
	}
	w.start(child.id)
	if use := w.b.gang.OwnerUse(7); use.CPUs != 1 {
		t.Errorf("ada has %d CPUs", use.CPUs)
	}
	if a, _ := w.b.gang.Allocation(gang.JobID(child.id)); len(a.Places) != 1 || len(a.Places[0].CPUs) != 1 {
		t.Errorf("the child has %+v", a)
	}
}

// TestChildrensEnvironment: the entry of a spawned job contains only what differs from its parent,
// and the job has all. In a log for earlier servers the entry contains all.
func TestChildrensEnvironment(t *testing.T) {
	spec := jobSpec(1)
	for i := range 1000 {
		spec.Env = append(spec.Env, fmt.Sprintf("VARIABLE_%d=%s", i, strings.Repeat("x", 100)))
	}
	spec.Limits = []*scorev1.ResourceLimit{{Resource: 7, Soft: 10, Hard: 20}}
	app := &agentpb.SpawnApp{Program: "child", Tasks: 1, Env: []string{"VARIABLE_3=y", "OWN=1"}}
	for version, small := range map[uint32]bool{protocol.Inherits: true, protocol.Inherits - 1: false} {
		w := spawner(t, version, spec, nil)
		child, err := w.spawns(1, app)
		if err != nil {
			t.Fatal(err)
		}
		record := w.log.Job(child.id)
		want := environ.Override(spec.GetEnv(), app.GetEnv())
		if got := record.Spec.GetEnv(); strings.Join(got, "\n") != strings.Join(want, "\n") || !proto.Equal(record.Spec.GetLimits()[0], spec.GetLimits()[0]) {
			t.Errorf("protocol %d: %d variables, want %d; limits %v", version, len(got), len(want), record.Spec.GetLimits())
		}
		if !proto.Equal(record.Spec, child.spec) {
			t.Errorf("protocol %d: the log has another job than the leader", version)
		}
		if child.bytes > 1000+len(want)*textBytes {
			t.Errorf("it counts for %d bytes", child.bytes)
		}
		if text := w.seen.String(); small && w.largest > 10_000 || !small && w.largest < 100_000 {
			t.Errorf("protocol %d: its entry has %d bytes\n%s", version, w.largest, text)
		}
	}
}
