package leader

import (
	"context"
	"math"
	"score/scored/api/scorev1"
	"time"
)

const (
	// rateSpan is the shortest time between two reports that gives a rate: reports of a delayed
	// node arrive close together.
	rateSpan = 500 * time.Millisecond
	// rateKept is how long, beyond the length of a rotation, a rate is shown after its last report:
	// nodes report once a second, but not on jobs that were off all the time.
	rateKept = 3 * time.Second
	// maxTop bounds the jobs in Top's answer; running jobs come first.
	maxTop = 1024
)

// rates are the rates of a job's part: the difference between two reports of its node.
type rates struct {
	from                        int64          // when the earlier report came
	at                          int64          // when the later report came
	usage                       *scorev1.Usage // in the earlier report
	share                       float64
	sent, bytes, nacked, resent float64 // per second
}

// recordUsage records a node's latest report on the usage of the part.
func (p *part) recordUsage(usage *scorev1.Usage, now int64) {
	if usage.Fences == nil {
		usage.Fences = p.usage.GetFences() // from before the agent's restart, until there is a new report
	}
	if usage.Messages = notLess(p.usage.GetMessages(), usage.GetMessages()); p.rates.usage != nil {
		p.rates.measure(usage, now)
	} else {
		p.rates.from, p.rates.usage = now, usage
	}
	// The largest process may have ended, and a restarted agent may not have found all processes
	// yet.
	usage.CpuNanos = max(usage.GetCpuNanos(), p.usage.GetCpuNanos())
	usage.MaxRssBytes = max(usage.GetMaxRssBytes(), p.usage.GetMaxRssBytes())
	p.usage = usage
}

// measure updates the rates, if the earlier report is old enough.
func (r *rates) measure(usage *scorev1.Usage, now int64) {
	span := now - r.from
	if span < rateSpan.Nanoseconds() {
		return
	}
	was, is := r.usage.GetMessages(), usage.GetMessages()
	perSecond := func(was, is uint64) float64 { return float64(is-min(was, is)) / time.Duration(span).Seconds() }
	r.share = min(float64(max(usage.GetRunNanos()-r.usage.GetRunNanos(), 0))/float64(span), 1)
	r.sent, r.bytes = perSecond(was.GetSent(), is.GetSent()), perSecond(was.GetSentBytes(), is.GetSentBytes())
	r.nacked, r.resent = perSecond(was.GetNacked(), is.GetNacked()), perSecond(was.GetResent(), is.GetResent())
	r.from, r.at, r.usage = now, now, usage
}

// notLess keeps counts from falling: a restarted agent has not read all contexts yet.
func notLess(was, is *scorev1.Messages) *scorev1.Messages {
	if was == nil {
		return is
	}
	return &scorev1.Messages{
		Contexts: max(was.GetContexts(), is.GetContexts()),
		Sent:     max(was.GetSent(), is.GetSent()), SentBytes: max(was.GetSentBytes(), is.GetSentBytes()),
		Received: max(was.GetReceived(), is.GetReceived()), ReceivedBytes: max(was.GetReceivedBytes(), is.GetReceivedBytes()),
		Full: max(was.GetFull(), is.GetFull()), Nacked: max(was.GetNacked(), is.GetNacked()), Resent: max(was.GetResent(), is.GetResent()),
		CreditRequests: max(was.GetCreditRequests(), is.GetCreditRequests()), CreditsGranted: max(was.GetCreditsGranted(), is.GetCreditsGranted()),
		Transports: transportsNotLess(was.GetTransports(), is.GetTransports()),
	}
}

// add adds with saturation, since nodes may report any numbers.
func add(x, y uint64) uint64 { return x + min(y, math.MaxUint64-x) }

// meetFences merges two nodes' reports on the fences in which they met; nil: none.
func meetFences(to, f *scorev1.Fences) *scorev1.Fences {
	if f == nil {
		return to
	}
	return &scorev1.Fences{
		Fences:     max(to.GetFences(), f.GetFences()),
		PlainBytes: add(to.GetPlainBytes(), f.GetPlainBytes()), PackedBytes: add(to.GetPackedBytes(), f.GetPackedBytes()),
	}
}

// addMessages adds two nodes' reports; nil: none.
func addMessages(to, m *scorev1.Messages) *scorev1.Messages {
	if m == nil {
		return to
	}
	return &scorev1.Messages{
		Contexts: add(to.GetContexts(), m.GetContexts()),
		Sent:     add(to.GetSent(), m.GetSent()), SentBytes: add(to.GetSentBytes(), m.GetSentBytes()),
		Received: add(to.GetReceived(), m.GetReceived()), ReceivedBytes: add(to.GetReceivedBytes(), m.GetReceivedBytes()),
		Full: add(to.GetFull(), m.GetFull()), Nacked: add(to.GetNacked(), m.GetNacked()), Resent: add(to.GetResent(), m.GetResent()),
		CreditRequests: add(to.GetCreditRequests(), m.GetCreditRequests()), CreditsGranted: add(to.GetCreditsGranted(), m.GetCreditsGranted()),
		Transports: addTransports(to.GetTransports(), m.GetTransports()),
	}
}

// shares returns the reports of the job's nodes.
func (j *job) shares() []*scorev1.NodeShare {
	shares := make([]*scorev1.NodeShare, len(j.parts))
	for i, p := range j.parts {
		shares[i] = &scorev1.NodeShare{Node: p.Node, Usage: p.usage}
	}
	return shares
}

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
