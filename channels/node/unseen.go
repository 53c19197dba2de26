package node

import (
	"cmp"
	"errors"
	"fmt"
	"score/channels"
	"score/flowctl"
	"slices"
	"time"
)

const (
	// unseenAfter is the time in nanoseconds after which a job with peers on other nodes reports a
	// node whose names have not appeared. The kernels tell each other within milliseconds, and make
	// links again within a second or two.
	unseenAfter = int64(5 * time.Second)
	// maxUnseen bounds the nodes that are reported by name.
	maxUnseen = 8
	// maxPublished bounds the names that are remembered for a job: some MiB.
	maxPublished = 1 << 16
)

// ErrOtherCluster: agents of another cluster use names of the same type.
var ErrOtherCluster = errors.New("another cluster on this network has the same agent.tipc_type: set another one on all nodes of one of them")

// NameTroubles lists what is wrong with names now.
type NameTroubles struct {
	Lost   error    // the connection to the kernel's topology service is lost; nil: it is not
	Other  error    // wraps ErrOtherCluster, and says which node it is; nil: there is none
	Unseen []Unseen // jobs with nodes whose names have not appeared
}

// Unseen is some nodes of a job.
type Unseen struct {
	Job   uint64 // its key
	Nodes []uint32
}

// NameTroubles returns what is wrong with names (TIPC) now. It does not wait.
func (n *Node) NameTroubles() *NameTroubles { return n.loop.topology.troubles.Load() }

// updateTroubles stores what NameTroubles returns.
func (l *loop) updateTroubles() {
	t := &l.topology
	troubles := &NameTroubles{Lost: t.lost}
	for b := range t.marks.bound {
		node, reference, _ := b.address().Socket()
		troubles.Other = fmt.Errorf("%w (type %d, mark %d, port %d at node %08x)", ErrOtherCluster, t.kind, b.instance, reference, node)
		break
	}
	for _, j := range t.jobs {
		if j.names.seen.reported && j.names.seen.missing > 0 {
			troubles.Unseen = append(troubles.Unseen, Unseen{j.key, j.names.seen.unseen(maxUnseen)})
		}
	}
	slices.SortFunc(troubles.Unseen, func(a, b Unseen) int { return cmp.Compare(a.Job, b.Job) })
	t.troubles.Store(troubles)
}

// checkUnseen reports nodes whose names have not appeared, once for each job. It does nothing
// without a connection to the service.
func (l *loop) checkUnseen(now int64) {
	t := &l.topology
	t.check = flowctl.NoDeadline
	for _, j := range t.jobs {
		s := &j.names.seen
		if s.missing == 0 || s.reported {
			continue
		}
		t.check = now + unseenAfter/4
		if since := j.remoteSince(); since == 0 || now-since < unseenAfter || t.lost != nil {
			continue
		}
		s.reported = true
		l.updateTroubles()
		if unseen := l.node.config.Unseen; unseen != nil {
			unseen(j.key, s.unseen(maxUnseen))
		}
	}
}

// remoteSince returns when the job got its first context with peers on other nodes; 0: it has none.
func (j *Job) remoteSince() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.remote
}

// noteRemote records that the job has a context with peers on other nodes; the caller holds the
// lock.
func (j *Job) noteRemote() {
	if j.remote == 0 {
		j.remote = channels.Nanos()
	}
}
