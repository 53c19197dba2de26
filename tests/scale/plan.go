package scale

import (
	"errors"
	"fmt"
	"score/ctxswitch"
	"score/gang"
	"score/scored/leader"
	"time"
)

// Mix says which gangs a cluster runs: all alike, one rank on each of their nodes, and every row
// full.
type Mix struct {
	Name string
	Size int // nodes of a gang; 0: all there are
	Rows int
}

// The mixes that are looked at.
var (
	// Whole is two gangs that each have the whole cluster.
	Whole = Mix{Name: "whole", Rows: 2}
	// Small is many gangs of eight nodes, four on each node.
	Small = Mix{Name: "small", Size: 8, Rows: 4}
)

func (m Mix) size(nodes int) int {
	if m.Size == 0 {
		return nodes
	}
	return m.Size
}

// ErrMix means that the gangs do not fill the cluster.
var ErrMix = errors.New("the gangs do not fill the cluster")

// firstTerm is the leader's.
const firstTerm = 1

// cluster is the leader's picture: the real matrix and the real rotation.
type cluster struct {
	matrix   *gang.Machine
	rotation gang.Rotation
	ids      []gang.NodeID
	index    map[gang.NodeID]int
	size     int                          // nodes of a gang
	places   map[gang.JobID][]gang.NodeID // of every gang
	next     gang.JobID
}

// newCluster places the gangs.
func newCluster(c *Config) (*cluster, error) {
	settings := gang.Config{Slice: c.Slice}
	if err := settings.Validate(); err != nil {
		return nil, err
	}
	k := &cluster{
		matrix: gang.New(settings), rotation: gang.Rotation{Term: firstTerm}, size: c.Mix.size(c.Nodes), next: 1,
		index: make(map[gang.NodeID]int), places: make(map[gang.JobID][]gang.NodeID),
	}
	for i := range c.Nodes {
		id := gang.NodeID(fmt.Sprint("n", i+1))
		k.ids, k.index[id] = append(k.ids, id), i
		if err := k.matrix.AddNode(gang.Node{ID: id, CPUs: 1, Memory: 1 << 30}); err != nil {
			return nil, err
		}
	}
	gangs := c.Mix.Rows * c.Nodes / k.size
	if err := k.add(gangs); err != nil {
		return nil, err
	}
	if rows := k.matrix.Rows(); len(rows) != c.Mix.Rows {
		return nil, fmt.Errorf("%w: %d rows, want %d", ErrMix, len(rows), c.Mix.Rows)
	}
	return k, nil
}

// add submits gangs, which must all find a place.
func (k *cluster) add(gangs int) error {
	for range gangs {
		request := gang.Request{ID: k.next, Tasks: k.size, Nodes: k.size, Submitted: int64(k.next)}
		if err := k.matrix.Submit(request); err != nil {
			return err
		}
		k.next++
	}
	start := k.matrix.Schedule(0).Start
	for _, a := range start {
		for _, p := range a.Places {
			k.places[a.Job] = append(k.places[a.Job], p.Node)
		}
	}
	if len(start) != gangs {
		return fmt.Errorf("%w: %d of %d found a place", ErrMix, len(start), gangs)
	}
	return nil
}

// replan makes the rotation that follows, decided at now, as the leader does.
func (k *cluster) replan(now int64) {
	k.rotation = gang.Next(k.rotation, k.matrix.Rows(), now, leader.PlanLead(len(k.ids)))
}

// plans returns the rotation as each node gets it.
func (k *cluster) plans() []*ctxswitch.Plan {
	split := k.rotation.Split(func(id gang.JobID) []gang.NodeID { return k.places[id] })
	plans := make([]*ctxswitch.Plan, len(k.ids))
	for i, id := range k.ids {
		plan := &ctxswitch.Plan{Term: k.rotation.Term, Version: k.rotation.Version, Origin: k.rotation.Origin}
		for pos, row := range k.rotation.Rows {
			r := ctxswitch.Row{Index: row.Index, Slice: row.Slice}
			if share := split[id]; share != nil {
				for _, job := range share[pos] {
					r.Jobs = append(r.Jobs, ctxswitch.JobID(job))
				}
			}
			plan.Rows = append(plan.Rows, r)
		}
		plans[i] = plan
	}
	return plans
}

// arrival returns when a node has a plan that was decided at now: the leader sends to one after the
// other.
func arrival(now int64, node int, perNode time.Duration, way int64) int64 {
	return now + int64(node+1)*perNode.Nanoseconds() + way
}
