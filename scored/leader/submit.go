package leader

import (
	"errors"
	"fmt"
	"score/gang"
	"score/scored/api"
	"score/scored/api/plural"
	"score/scored/api/protocol"
	"score/scored/api/scorev1"
	"score/scored/api/texts"
	"score/scored/state"
	"score/scored/state/statepb"
	"slices"
	"time"

	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// submit queues a job. answer is called when it is committed, or at once with the reason why the
// cluster can never run it.
func (c *controller) submit(spec *scorev1.JobSpec, user *scorev1.Identity, caller Caller, answer func(uint64, error)) {
	c.enter(c.newJob(spec, user), caller, answer)
}

// enter queues a user's new job.
func (c *controller) enter(j *job, caller Caller, answer func(uint64, error)) {
	if err := c.accept(j, caller); err != nil {
		answer(0, err)
		return
	}
	if j.needsOwner() {
		c.awaitOwner(j)
	}
	c.call(func(err error) { answer(j.id, err) })
}

// accept checks a user's new job and queues it.
func (c *controller) accept(j *job, caller Caller) error {
	if err := c.check(j.spec); err != nil {
		return err
	}
	if err := c.accounts.admit(j, caller); err != nil {
		return err
	}
	return c.queue(j)
}

// check refuses what no user may submit now.
func (c *controller) check(spec *scorev1.JobSpec) error {
	if err := c.checkStarted(); err != nil {
		return err
	}
	if err := c.checkSurvival(spec); err != nil {
		return err
	}
	if err := c.checkStage(spec); err != nil {
		return err
	}
	if err := c.checkListed(spec); err != nil {
		return err
	}
	if err := c.checkWithheld(spec); err != nil {
		return err
	}
	return c.checkExcluded(spec)
}

// checkStarted refuses jobs until the nodes that start together with the cluster have connected
// once: a job that needs several of them would be refused for good, or share the CPUs of the first.
func (c *controller) checkStarted() error {
	if c.startNodes == 0 {
		return nil
	}
	if up := c.nodesUp(); up < c.startNodes {
		return fmt.Errorf("%w: the cluster is starting, and %d of its %s connected", ErrStarting, up, plural.Of(c.startNodes, "node is", "nodes are"))
	}
	c.startNodes = 0
	return nil
}

// checkSurvival refuses options about the loss of ranks and nodes that contradict each other, or
// that the cluster does not support yet.
func (c *controller) checkSurvival(spec *scorev1.JobSpec) error {
	switch {
	case spec.GetRespawn() > api.MaxRespawns:
		return fmt.Errorf("%w: --respawn is %d, and the maximum is %d", ErrInvalid, spec.GetRespawn(), api.MaxRespawns)
	case spec.GetRequeue() && (spec.GetRecover() || spec.GetRespawn() > 0):
		return fmt.Errorf("%w: a job cannot both restart as a whole and continue without what it loses", ErrInvalid)
	case spec.GetRecover() || spec.GetRespawn() > 0:
		return c.requireProtocol(protocol.Survival)
	}
	return nil
}

// checkListed refuses a node list with a lost node. The matrix refuses nodes that the cluster does
// not have.
func (c *controller) checkListed(spec *scorev1.JobSpec) error {
	for _, name := range spec.GetNodeList() {
		if n := c.nodes[name]; n != nil && !n.inMatrix {
			return fmt.Errorf("%w: %w: the node list names %s, which is lost; 'scored node list' shows the others",
				ErrImpossible, gang.ErrUnknownNode, name)
		}
	}
	return nil
}

// checkExcluded refuses to exclude nodes that the cluster does not have: the name is mistyped. A
// lost node may be excluded, since it may come back.
func (c *controller) checkExcluded(spec *scorev1.JobSpec) error {
	if len(spec.GetExcludeList()) == 0 {
		return nil
	}
	for _, name := range spec.GetExcludeList() {
		if c.nodes[name] == nil {
			return fmt.Errorf("%w: %w: --exclude names %s, which the cluster does not have", ErrImpossible, gang.ErrUnknownNode, name)
		}
	}
	return c.requireProtocol(protocol.Exclude)
}

func (c *controller) newJob(spec *scorev1.JobSpec, user *scorev1.Identity) *job {
	spec = boundTo(user.GetNode(), spec)
	return &job{
		id: c.nextJob, spec: spec, listed: listedSpec(spec), user: user,
		attempt: newAttempt(), submitted: c.now, bytes: specBytes(spec),
	}
}

// boundTo returns the spec bound to one node; "": any node. It applies to what the job spawns too.
func boundTo(node string, spec *scorev1.JobSpec) *scorev1.JobSpec {
	if node == "" {
		return spec
	}
	bound := proto.CloneOf(spec)
	bound.Nodes, bound.NodeList = 1, []string{node}
	return bound
}

// queue adds a new job to all tables, or to none.
func (c *controller) queue(j *job) error {
	if len(c.jobs) >= state.MaxUnfinished {
		return fmt.Errorf("%w: %d jobs wait or run already, and the cluster keeps no more; wait until some have ended", ErrImpossible, state.MaxUnfinished)
	}
	if !j.isText() {
		if err := c.requireProtocol(protocol.Texts); err != nil {
			return err
		}
	}
	if err := c.request(j); err != nil {
		return err
	}
	c.nextJob++
	c.addJob(j)
	if c.withhold(j); j.withheld() {
		c.gang.Remove(gang.JobID(j.id)) // it could run some day
	}
	spec, inherits := c.entrySpec(j)
	j.queuedAfter = c.urgent
	command := &statepb.Submit{
		JobId: j.id, Spec: spec, Inherits: inherits, User: j.user, ParentJob: j.parents, Preput: pairs(j.preput), MemoryPerNodeBytes: uint64(j.memory),
		SpawnedBy: c.requestBy(j.spawnedBy), Hold: j.hold, Unmet: j.unmetJobs(),
	}
	c.propose(&statepb.Command{Command: &statepb.Command_Submit{Submit: command}})
	c.putKey(j, command)
	c.call(func(err error) {
		if err == nil {
			c.useCommittedSpec(j)
		}
	})
	c.placeDirty = true
	c.stageLater(j)
	c.stats.Submitted++
	c.log("job submitted", zap.Uint64("job", j.id), zap.String("user", j.user.GetUser()), zap.Uint32("tasks", j.spec.GetTasks()))
	return nil
}

// isText reports whether all texts for the job's programs are UTF-8.
func (j *job) isText() bool {
	return texts.ValidIn(j.spec) && !slices.ContainsFunc(j.preput, func(p state.Pair) bool { return !texts.Valid(p.Key, p.Value) })
}

// request asks the matrix for a place, with as much memory as the job may be promised.
func (c *controller) request(j *job) (err error) {
	promises := []int64{c.memoryPerNode(j)}
	if limit := c.accounts.ofOwner(j).limits.GetMemoryPerNodeBytes(); limit > 0 {
		promises[0] = min(promises[0], asInt(limit)) // the default may be more; what was asked for was checked
	}
	if j.parent != nil {
		// A child is refused if it does not fit now, since its parent waits for it. So those that
		// the same program spawned just before must have their places.
		c.placeAll()
		if promises, err = c.childMemory(j); err != nil {
			return err
		}
	}
	for _, j.memory = range promises {
		if err = c.enqueue(j); err == nil {
			return nil
		}
	}
	if c.singleUser && errors.Is(err, gang.ErrTooManyNodes) {
		err = fmt.Errorf("%w; 'scored dev --nodes %d' runs a cluster of as many on this machine", err, j.spec.GetNodes())
	}
	return fmt.Errorf("%w: %w", ErrImpossible, err)
}

// enqueue passes the job to the scheduler. If jobs may share CPUs by default, a job that is too
// large for the CPUs becomes one whose ranks share them.
func (c *controller) enqueue(j *job) error {
	j.request = j.requestOf()
	err := c.gang.Submit(j.request)
	short := errors.Is(err, gang.ErrTooFewCPUs) || errors.Is(err, gang.ErrTooManyCPUs)
	if !short || !c.shareCPUs || j.spec.GetCpuEach() || j.spec.GetExclusive() {
		return err
	}
	spec := proto.CloneOf(j.spec)
	spec.Oversubscribe = true
	j.spec, j.listed, j.bytes = spec, listedSpec(spec), specBytes(spec)
	j.request = j.requestOf()
	return c.gang.Submit(j.request)
}

// useCommittedSpec replaces the submitted spec by the committed copy, which is equal: one is enough
// to keep.
func (c *controller) useCommittedSpec(j *job) {
	c.readState(func(s *state.State) {
		if record := s.Job(j.id); record != nil && record.Phase != state.Done {
			j.spec, j.listed = record.Spec, listedSpec(record.Spec)
		}
	})
}

func pairs(from []state.Pair) []*statepb.Pair {
	to := make([]*statepb.Pair, len(from))
	for i, p := range from {
		to[i] = &statepb.Pair{Key: p.Key, Value: p.Value}
	}
	return to
}

// requestOf returns the matrix's view of a job.
func (j *job) requestOf() gang.Request {
	s := j.spec
	r := gang.Request{
		ID:            gang.JobID(j.id),
		Tasks:         int(s.GetTasks()),
		Nodes:         int(s.GetNodes()),
		CPUsPerTask:   int(max(s.GetCpusPerTask(), 1)),
		MemPerNode:    j.memory,
		Channels:      int(s.GetChannelsPerTask()),
		Priority:      int(s.GetPriority()),
		Exclusive:     s.GetExclusive(),
		Oversubscribe: s.GetOversubscribe(),
		Cyclic:        s.GetDistribution() == scorev1.Distribution_DISTRIBUTION_CYCLIC,
		TimeLimit:     time.Duration(s.GetTimeLimitNanos()),
		Submitted:     j.submitted,
		Survives:      s.GetRecover(),
		With:          gang.JobID(j.parents),
		Owner:         gang.OwnerID(j.user.GetUid()),
	}
	r.NodeList, r.Exclude = nodeIDs(s.GetNodeList()), nodeIDs(s.GetExcludeList())
	return r
}

func nodeIDs(names []string) (ids []gang.NodeID) {
	for _, name := range names {
		ids = append(ids, gang.NodeID(name))
	}
	return ids
}

// textBytes is what each text of a list takes in memory beside its bytes: two words, and what the
// allocator rounds up. A job may have as many texts as bytes.
const textBytes = 24

// namedBytes is what a node that a job names takes in the matrix besides: it is in two lists there,
// and in two encoded ones.
const namedBytes = 40

// dependencyBytes is what a dependency takes besides: it is in two indices.
const dependencyBytes = 64

// specBytes returns what a spec takes in memory.
func specBytes(spec *scorev1.JobSpec) int {
	named := len(spec.GetNodeList()) + len(spec.GetExcludeList())
	texts := len(spec.GetArgv()) + len(spec.GetEnv()) + named
	for _, c := range spec.GetCommands() {
		texts += len(c.GetArgv()) + len(c.GetEnv())
	}
	dependencies := 0
	for _, d := range spec.GetDependencies() {
		dependencies += len(d.GetJobIds())
	}
	return proto.Size(spec) + texts*textBytes + named*namedBytes + dependencies*dependencyBytes
}

// listedSpec returns the spec for lists and other users, without the environment: it may hold
// secrets, and is most of the size.
func listedSpec(spec *scorev1.JobSpec) *scorev1.JobSpec {
	if len(spec.GetEnv()) == 0 && len(spec.GetLimits()) == 0 {
		return spec
	}
	listed := new(scorev1.JobSpec)
	to := listed.ProtoReflect()
	spec.ProtoReflect().Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if name := field.Name(); name != "env" && name != "limits" {
			to.Set(field, value) // shared, since specs do not change
		}
		return true
	})
	return listed
}
