package leader

import (
	"context"
	"score/scored/api/scorev1"
	"time"
)

const (
	// rateKept is how long, beyond the length of a rotation, a rate is shown after its last report:
	// nodes report once a second, but not on jobs that were off all the time.
	rateKept = 3 * time.Second
	// maxTop bounds the jobs in Top's answer; running jobs come first.
	maxTop = 1024
)

// topView returns what scored top shows, without the times of switches.
func (c *controller) topView() *scorev1.GetTopResponse {
	view := &scorev1.GetTopResponse{NowNanos: c.now, Cluster: c.cluster, Nodes: uint32(len(c.nodes)), NodesUp: uint32(c.nodesUp()), Matrix: c.matrixView()}
	kept := rateKept.Nanoseconds()
	for _, row := range c.rotation.Rows {
		kept += row.Slice.Nanoseconds()
	}
	all := c.sortedJobs()
	for _, placed := range []bool{true, false} {
		for _, j := range all {
			if j.state == done || j.active() != placed {
				continue
			}
			if len(view.Jobs) == maxTop {
				view.JobsLeftOut++
				continue
			}
			view.Jobs = append(view.Jobs, c.topJob(j, kept))
		}
	}
	return view
}

func (c *controller) topJob(j *job, kept int64) *scorev1.TopJob {
	top := &scorev1.TopJob{
		JobId: j.id, Name: j.spec.GetName(), User: j.user.GetUser(), State: j.state, Ranks: j.spec.GetTasks(),
		Nodes: uint32(len(j.parts)), Row: int32(j.row), Usage: j.usage(),
		Idle: publicIdleness(c.idleView(j)), // anybody may see top
		Hold: j.hold,
	}
	for _, p := range j.parts {
		if r := &p.rates; r.at != 0 && c.now-r.at <= kept && !p.done {
			top.Share = max(top.Share, r.share)
			top.SentPerSecond += r.sent
			top.BytesPerSecond += r.bytes
			top.NackedPerSecond += r.nacked
			top.ResentPerSecond += r.resent
		}
	}
	return top
}

// Top returns all unfinished jobs, and the matrix.
func (l *Leader) Top(ctx context.Context) (*scorev1.GetTopResponse, error) {
	return atOnce(ctx, l, func(c *controller) (*scorev1.GetTopResponse, error) { return c.topView(), nil })
}

// JobShares are the reports of a job's nodes.
type JobShares struct {
	ID     uint64
	Shares []*scorev1.NodeShare
}

// Shares returns the reports on all jobs that have places, by number.
func (l *Leader) Shares(ctx context.Context) ([]JobShares, error) {
	return atOnce(ctx, l, func(c *controller) ([]JobShares, error) {
		var all []JobShares
		for _, j := range c.sortedJobs() {
			if j.active() {
				all = append(all, JobShares{j.id, j.shares()})
			}
		}
		return all, nil
	})
}
