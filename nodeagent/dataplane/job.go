package dataplane

import (
	"net"
	"score/channels/node"
	"score/nodeagent/ancestry"
	"score/nodeagent/wait"
	"score/scored/api/agentpb"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
)

// The times for which a job's contexts are driven after its end while messages are unanswered. The
// nodes' agents answer within milliseconds, even for stopped ranks.
const (
	// LingerEnded is for ranks that ended by themselves: their last messages must arrive.
	LingerEnded = 500 * time.Millisecond
	// LingerKilled is for killed ranks: only their peers must be informed.
	LingerKilled = 50 * time.Millisecond
)

// Job is a job's part on this node.
type Job struct {
	plane    *Plane
	id       uint64
	uid      uint32
	steward  int
	ranks    []uint32
	nodes    []string // names of all its nodes
	handle   *node.Job
	respawns bool // failed ranks are started again, possibly at once

	launched chan struct{} // closed by Launched
	left     chan struct{} // closed by Rest or Leave, under the plane's mu
	over     chan struct{} // closed by Over, under the plane's mu
	gone     chan struct{} // closed when nothing is left

	mu      sync.Mutex
	changed chan struct{} // closed, and made again, by Respawned
	pids    []int32       // of the ranks, in their order
	at      uint64        // when all had been started, as ancestry.Process.Start
	waiting int           // connections of still unknown ranks
}

func newJob(p *Plane, order *agentpb.Prepare, steward int) *Job {
	var nodes []string
	for _, place := range order.GetPlaces() {
		nodes = append(nodes, place.GetNode())
	}
	return &Job{
		nodes: nodes,
		plane: p, id: order.GetJobId(), uid: order.GetUser().GetUid(), steward: steward,
		ranks:    order.GetPlaces()[order.GetNodeIndex()].GetRanks(),
		respawns: order.GetSpec().GetRespawn() > 0,
		changed:  make(chan struct{}),
		launched: make(chan struct{}),
		left:     make(chan struct{}),
		over:     make(chan struct{}),
		gone:     make(chan struct{}),
	}
}

// Launched sets the ranks' processes, in the ranks' order. It serves ranks that have already
// connected.
func (j *Job) Launched(pids []int32) {
	at, err := ancestry.SinceBoot()
	if err != nil {
		j.plane.options.Logger.Warn("a job gets no channels", zap.Uint64("job", j.id), zap.Error(err))
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.pids == nil {
		j.pids, j.at = pids, at
		close(j.launched)
	}
}

// Respawned sets the new process of a rank. Channels on which its previous process died stay dead.
func (j *Job) Respawned(rank uint32, pid int32) {
	at, err := ancestry.SinceBoot()
	i, here := slices.BinarySearch(j.ranks, rank)
	if err != nil || !here {
		return
	}
	j.handle.Respawned(rank)
	j.mu.Lock()
	defer j.mu.Unlock()
	if i < len(j.pids) {
		j.pids[i], j.at = pid, at
	}
	close(j.changed)
	j.changed = make(chan struct{})
}

// isNew reports whether a child of the steward may be a restarted rank that is not known yet.
// changed is closed when that changes.
func (j *Job) isNew(p ancestry.Process) (is bool, changed <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.pids != nil && (p.Start > j.at || j.respawns) && !slices.Contains(j.pids, int32(p.PID)), j.changed
}

// Ended reports that a rank's process ended.
func (j *Job) Ended(rank uint32) { j.handle.Ended(rank) }

// Rest reports that no rank is left here, but the job may go on elsewhere. It returns at once. The
// contexts are driven until their ranks' messages were answered and the peers know of their ends,
// however slow these are, or until LingerEnded after Over; then they are removed.
func (j *Job) Rest() {
	j.plane.mu.Lock()
	defer j.plane.mu.Unlock()
	j.leaveLocked(LingerEnded)
}

// Over reports that the job has ended, or must end, on all nodes. It may be called before Rest, and
// repeatedly.
func (j *Job) Over() {
	j.plane.mu.Lock()
	defer j.plane.mu.Unlock()
	j.overLocked()
}

// Gone returns a channel that is closed when nothing of the job is left here, after Rest or Leave.
func (j *Job) Gone() <-chan struct{} { return j.gone }

// Leave ends the job here. It returns at once. The contexts are driven until all messages were
// answered, for at most linger, and then removed. It may be called repeatedly.
func (j *Job) Leave(linger time.Duration) {
	j.plane.mu.Lock()
	defer j.plane.mu.Unlock()
	j.overLocked()
	j.leaveLocked(linger)
}

// overLocked is like Over; the caller holds the plane's mu.
func (j *Job) overLocked() {
	if !wait.Closed(j.over) {
		close(j.over)
	}
}

// leaveLocked is like Leave; the caller holds the plane's mu.
func (j *Job) leaveLocked(linger time.Duration) {
	if wait.Closed(j.left) {
		return
	}
	close(j.left)
	p := j.plane
	if p.jobs[j.steward] == j {
		delete(p.jobs, j.steward) // otherwise the steward already has another job
	}
	p.leaving[j] = true
	p.tasks.Go(func() {
		if err := j.handle.RemoveAfter(j.over, linger); err != nil {
			p.options.Logger.Warn("something of a job's channels is left", zap.Uint64("job", j.id), zap.Error(err))
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.leaving, j)
		close(j.gone)
	})
}

// admit serves a process of the job after its rank is known.
func (j *Job) admit(conn *net.UnixConn, rank ancestry.Process) {
	if wait.Closed(j.launched) {
		if is, _ := j.isNew(rank); !is {
			j.serve(conn, rank)
			return
		}
	}
	if !j.mayWait() {
		j.plane.refuse(conn, "too many connections", int32(rank.PID))
		return
	}
	j.plane.tasks.Go(func() {
		defer j.endWait()
		if why := j.awaitRank(rank); why != "" {
			j.plane.refuse(conn, why, int32(rank.PID))
			return
		}
		j.serve(conn, rank)
	})
}

// awaitRank waits until the rank of the process is known. refusal is the reason why the process
// cannot be served, "" if it can.
func (j *Job) awaitRank(rank ancestry.Process) (refusal string) {
	timer := time.NewTimer(launchWait)
	defer timer.Stop()
	for {
		var ready <-chan struct{}
		is, changed := j.isNew(rank)
		if !is {
			ready = j.launched
		}
		select {
		case <-ready:
			if is, _ := j.isNew(rank); !is {
				return ""
			}
		case <-changed:
		case <-j.left:
			return "the job is over"
		case <-timer.C:
			return "the job was not started in time"
		}
	}
}

// mayWait counts a connection that must wait, if there is room for it.
func (j *Job) mayWait() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.handle.Connections()+j.waiting >= j.maxConnections() {
		return false
	}
	j.waiting++
	return true
}

func (j *Job) endWait() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.waiting--
}

func (j *Job) maxConnections() int { return connectionsPerRank * len(j.ranks) }

// serve gives a child of the steward, or its descendant, the rank's contexts.
func (j *Job) serve(conn *net.UnixConn, p ancestry.Process) {
	if wait.Closed(j.left) {
		j.plane.refuse(conn, "the job is over", int32(p.PID))
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	rank, ok := j.rankOf(p)
	if !ok || j.handle.Connections() >= j.maxConnections() {
		j.plane.refuse(conn, "not a rank, or too many connections", int32(p.PID))
		return
	}
	if err := j.handle.Serve(conn, rank); err != nil {
		j.plane.options.Logger.Debug("a rank gets no channels", zap.Uint64("job", j.id), zap.Uint32("rank", rank), zap.Error(err))
	}
}

// rankOf returns the rank of a child of the steward. A process with the number of an ended rank is
// not taken for it, since it was started after the ranks. The caller holds mu.
func (j *Job) rankOf(p ancestry.Process) (rank uint32, ok bool) {
	i := slices.Index(j.pids, int32(p.PID))
	if i < 0 || i >= len(j.ranks) || p.Start > j.at {
		return 0, false
	}
	return j.ranks[i], true
}
