package leader

import (
	"context"
	"fmt"
	"path"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"slices"
	"time"
)

const (
	// stageSlowest is the lowest expected rate at which files reach a node, in bytes per second: a
	// tenth of a network of 1 Gbit/s, through several nodes at once. Preparing may take that much
	// longer.
	stageSlowest = 12 << 20
	// stageSpare is how many times as many nodes as a waiting job needs fetch its files: which ones
	// it will get is unknown, and nodes drop unused files by themselves.
	stageSpare = 2
)

// StageSeed chooses the node that gets a user's files first, and returns its address: a node of the
// list, or else always the same node for a user that is not excluded, since it keeps what was sent
// before.
func (l *Leader) StageSeed(ctx context.Context, uid uint32, list, exclude []string) (node, address string, err error) {
	type seed struct{ node, address string }
	s, err := atOnce(ctx, l, func(c *controller) (seed, error) {
		n := c.stageSeed(uid, list, exclude)
		if n == nil {
			return seed{}, fmt.Errorf("%w: no node is there that could take the job's files; 'scored node list' shows them", ErrState)
		}
		return seed{n.name, n.address}, nil
	})
	return s.node, s.address, err
}

func (c *controller) stageSeed(uid uint32, list, exclude []string) *node {
	for _, name := range list {
		if n := c.nodes[name]; n.connected() {
			return n
		}
	}
	excluded := setOf(exclude)
	up := slices.DeleteFunc(c.sortedNodes(), func(n *node) bool { return n.link == nil || excluded[n.name] })
	if len(up) == 0 {
		return nil
	}
	return up[int(uid)%len(up)]
}

// Peers are the agents of a cluster's nodes.
type Peers struct {
	Addresses   map[string]string // by node
	Unconnected []string          // the nodes whose agents are not connected, by name
}

// Peers returns the agents of all nodes, or of one node only, which must be connected.
func (l *Leader) Peers(ctx context.Context, only string) (Peers, error) {
	return atOnce(ctx, l, func(c *controller) (Peers, error) {
		if only == "" {
			return c.peers(), nil
		}
		switch n := c.nodes[only]; {
		case n == nil:
			return Peers{}, fmt.Errorf("%w: there is no node %s", ErrInvalid, only)
		case n.link == nil:
			return Peers{}, fmt.Errorf("%w: node %s is not connected; 'scored node list' shows which nodes are", ErrState, only)
		default:
			return Peers{Addresses: map[string]string{only: n.address}}, nil
		}
	})
}

func (c *controller) peers() Peers {
	p := Peers{Addresses: make(map[string]string)}
	for _, n := range c.sortedNodes() {
		if n.link == nil {
			p.Unconnected = append(p.Unconnected, n.name)
		} else {
			p.Addresses[n.name] = n.address
		}
	}
	return p
}

// checkStage refuses a job if no node has its files.
func (c *controller) checkStage(spec *scorev1.JobSpec) error {
	if len(spec.GetStaged()) == 0 {
		return nil
	}
	if !c.nodes[spec.GetStageSeed()].connected() {
		return fmt.Errorf("%w: node %s, which was given the job's files, is gone; submit the job again", ErrState, spec.GetStageSeed())
	}
	return nil
}

// stageTime returns how much longer preparing may take because of the job's files.
func stageTime(spec *scorev1.JobSpec) time.Duration {
	bytes := uint64(0)
	for _, f := range spec.GetStaged() {
		bytes += f.GetSize()
	}
	return time.Duration(bytes/stageSlowest) * time.Second
}

// stageLater schedules the staging of a job's files, if it has any, for when it is known whether
// the job must wait.
func (c *controller) stageLater(j *job) {
	if len(j.spec.GetStaged()) > 0 {
		c.toStage = append(c.toStage, j)
	}
}

// stage makes a job's seed keep its files, and nodes that a waiting job may get fetch them. The
// job's own nodes get that with the order to prepare it.
func (c *controller) stage() {
	for _, j := range c.toStage {
		if j.state == done || c.jobs[j.id] != j {
			continue
		}
		j.staged = append(j.staged[:0:0], j.spec.GetStageSeed())
		if j.state == queued {
			j.staged = append(j.staged, c.stageNodes(j)...)
		}
		for i := range j.staged {
			c.sendStage(j, i)
		}
	}
	c.toStage = nil
}

// stageNodes returns nodes that a waiting job is likely to get, without the seed: those of its
// list, then others that it does not exclude.
func (c *controller) stageNodes(j *job) []string {
	need := int(j.spec.GetNodes())
	if need == 0 {
		need = int(j.spec.GetTasks()) // at most one node for each task
	}
	var names []string
	add := func(name string) {
		n := c.nodes[name]
		if n.connected() && name != j.spec.GetStageSeed() && len(names) < stageSpare*need && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range j.spec.GetNodeList() {
		add(name)
	}
	if len(names) < stageSpare*need {
		excluded := setOf(j.spec.GetExcludeList())
		for _, n := range c.sortedNodes() {
			if !excluded[n.name] {
				add(n.name)
			}
		}
	}
	return names
}

// sendStage sends the order to stage to one of the job's staged nodes.
func (c *controller) sendStage(j *job, index int) {
	n := c.nodes[j.staged[index]]
	if !n.connected() {
		return
	}
	addresses := make([]string, len(j.staged))
	for i, name := range j.staged {
		if other := c.nodes[name]; other != nil {
			addresses[i] = other.address
		}
	}
	c.send(n.link, &agentpb.ServerMessage{Message: &agentpb.ServerMessage_Stage{Stage: &agentpb.Stage{
		JobId: j.id, User: j.user, Files: j.spec.GetStaged(), Addresses: addresses, Index: uint32(index), Nodes: j.fetchers(),
	}}})
}

// fetchers returns the nodes that fetch the job's files from each other.
func (j *job) fetchers() []string {
	nodes := slices.Clone(j.staged)
	for _, p := range j.parts {
		if !slices.Contains(nodes, p.Node) {
			nodes = append(nodes, p.Node)
		}
	}
	return nodes
}

// stageAgain sends a node that has reconnected its orders to stage.
func (c *controller) stageAgain(n *node) {
	for _, j := range c.sortedJobs() {
		if len(j.spec.GetStaged()) == 0 || j.forgotten || j.state == done {
			continue
		}
		if len(j.staged) == 0 { // staged by another leader
			j.staged = []string{j.spec.GetStageSeed()}
		}
		if i := slices.Index(j.staged, n.name); i >= 0 {
			c.sendStage(j, i)
		}
	}
}

// forgetStaged tells the staged nodes on which the job does not run that it no longer needs its
// files.
func (c *controller) forgetStaged(j *job) {
	for _, name := range j.staged {
		if n := c.nodes[name]; n != nil && j.part(name) == nil {
			c.send(n.link, forgetMessage(j.id))
		}
	}
	j.staged = nil
}

// stagedForChild returns the staged files for a spawned job: the programs are those with the names
// that are spawned.
func stagedForChild(files []*scorev1.StagedFile, apps []*agentpb.SpawnApp) []*scorev1.StagedFile {
	var out []*scorev1.StagedFile
	for _, f := range files {
		kind := f.GetKind()
		if kind != scorev1.StagedKind_STAGED_KIND_LIBRARY {
			kind = scorev1.StagedKind_STAGED_KIND_FILE
			if slices.ContainsFunc(apps, func(a *agentpb.SpawnApp) bool { return path.Base(a.GetProgram()) == f.GetName() }) {
				kind = scorev1.StagedKind_STAGED_KIND_PROGRAM
			}
		}
		out = append(out, &scorev1.StagedFile{Name: f.GetName(), Sha256: f.GetSha256(), Size: f.GetSize(), Kind: kind})
	}
	return out
}
