package leader

import (
	"fmt"
	"score/scored/api/agentpb"
	"score/scored/state"
	"slices"
	"strings"

	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"
)

// spawnKey identifies a spawn request of a rank, so that a repeated one is recognized.
type spawnKey struct {
	node    string
	request uint64
}

// maxSpawnsKept bounds the children of one job that are known by their requests. A node repeats
// those whose answers were lost with its stream: no more than run at once, and those that have
// ended since.
const maxSpawnsKept = 2 * maxChildren

// spawns are the children of one job by the requests that spawned them, the latest.
type spawns struct {
	byRequest map[spawnKey]uint64
	order     []spawnKey // oldest first
}

func (s *spawns) add(key spawnKey, child uint64) {
	if s.byRequest == nil {
		s.byRequest = make(map[spawnKey]uint64)
	}
	if len(s.order) == maxSpawnsKept {
		delete(s.byRequest, s.order[0])
		s.order = slices.Delete(s.order, 0, 1)
	}
	s.byRequest[key] = child
	s.order = append(s.order, key)
}

// restoreSpawns restores the spawns whose answers may have been lost with an earlier leader. It
// leaves out children that are done: they may belong to an earlier attempt of the parent, and nodes
// number the requests of each attempt from the start.
func (c *controller) restoreSpawns() {
	for _, j := range c.sortedJobs() {
		if by := j.spawnedBy; j.parent != nil && j.state != done && by != (state.NameRequest{}) {
			j.parent.spawned.add(spawnKey{by.Node, by.Number}, j.id)
		}
	}
}

// spawn starts the job that a rank of another asked for. It joins its parent's gang: the two
// exchange messages, so they must run together.
func (c *controller) spawn(n *node, m *agentpb.SpawnRequest) {
	reply := &agentpb.SpawnReply{JobId: m.GetJobId(), Request: m.GetRequest()}
	send := func() {
		c.send(n.link, &agentpb.ServerMessage{Message: &agentpb.ServerMessage_Spawn{Spawn: reply}})
	}
	parent, p := c.partOf(n, m.GetJobId())
	if p == nil {
		return
	}
	key := spawnKey{n.name, m.GetRequest()}
	if child, ok := parent.spawned.byRequest[key]; ok {
		reply.ChildJob = child
		send()
		return
	}
	child, err := c.child(parent, state.NameRequest{Job: parent.id, Node: key.node, Number: key.request}, m)
	if err != nil {
		// MPI reports only an error code. A program may repeat the request without end, so the log
		// has only what the user is told, once.
		if c.warnOnce(parent, fmt.Sprintf("a spawn was refused: %s", plain(err))) {
			c.log("spawn refused", zap.Uint64("job", parent.id), zap.String("reason", plain(err)))
		}
		reply.Error = plain(err)
		send()
		return
	}
	parent.spawned.add(key, child.id)
	reply.ChildJob = child.id
	send() // after the commit, as all its effects
}

func (c *controller) child(parent *job, by state.NameRequest, m *agentpb.SpawnRequest) (*job, error) {
	if parent.state != running {
		return nil, fmt.Errorf("%w: the job that spawns is being ended", ErrState)
	}
	spec, own, err := childSpec(parent, m.GetApps())
	if err != nil {
		return nil, err
	}
	child := c.newJob(spec, parent.user)
	child.parent, child.parents, child.spawnedBy = parent, parent.id, by
	child.own = proto.CloneOf(child.listed)
	child.own.Env = own
	child.bytes = specBytes(child.own)
	if len(own) > 0 {
		child.bytes += len(spec.GetEnv()) * textBytes // only the texts are shared
	}
	if err := c.mayHaveChild(child); err != nil {
		return nil, err
	}
	for key, value := range m.GetPreput() {
		child.preput = append(child.preput, state.Pair{Key: key, Value: value})
	}
	slices.SortFunc(child.preput, func(x, y state.Pair) int { return strings.Compare(x.Key, y.Key) })
	return child, c.queue(child)
}
