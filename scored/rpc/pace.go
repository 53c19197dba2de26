package rpc

import (
	"context"
	"score/scored/api/scorev1"
	"score/scored/leader"
	"sync"
	"time"

	"connectrpc.com/connect"
)

const (
	// carriedPerCPU is how much output a host carries in a second for each of its CPUs, in bytes,
	// while others compute on them: it costs some hundredths of their time (docs/BENCHMARKS.md).
	carriedPerCPU = 2 << 20
	// carriedLeast is what a stream may always have, however many there are.
	carriedLeast = 64 << 10
	// messageCost is what a message counts as beside its bytes, for the nodes' stewards do the
	// same.
	messageCost = 32 << 10
	// paceEvery is the least time between two looks at who else computes, and paceAfter how much
	// output passes between two: little output is no cost, and nobody is asked about it.
	paceEvery = 100 * time.Millisecond
	paceAfter = 512 << 10
	// paceAgain is after how long a pace is told again; nodes forget it after three times as long.
	paceAgain = time.Second
	// flowLasts is after how long without output a stream has no part of what its hosts carry.
	flowLasts = 2 * time.Second
)

// flows are the streams of output that have a pace, by the hosts that carry them.
type flows struct {
	mu   sync.Mutex
	seen map[string]map[*outputProgress]time.Time
}

func newFlows() *flows { return &flows{seen: map[string]map[*outputProgress]time.Time{}} }

// beside counts the streams that a host carries, with p.
func (f *flows) beside(host string, p *outputProgress, now time.Time) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.seen[host]
	if all == nil {
		all = map[*outputProgress]time.Time{}
		f.seen[host] = all
	}
	all[p] = now
	for other, seen := range all {
		if now.Sub(seen) > flowLasts {
			delete(all, other)
		}
	}
	return len(all)
}

// end forgets a stream.
func (f *flows) end(p *outputProgress) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for host, all := range f.seen {
		if delete(all, p); len(all) == 0 {
			delete(f.seen, host)
		}
	}
}

// rate is how many bytes in a second the crowded hosts carry of a stream; 0: as many as come.
func (f *flows) rate(hosts []leader.Host, p *outputProgress, now time.Time) (rate uint64) {
	for _, host := range hosts {
		part := uint64(max(carriedPerCPU*host.CPUs/f.beside(host.Name, p, now), carriedLeast))
		if rate == 0 || part < rate {
			rate = part
		}
	}
	return rate
}

// pacing is what a source's node has been told, and how much has come since.
type pacing struct {
	passed    int // of fetch alone, counted as messageCost says
	checkedAt time.Time

	checkDue chan struct{} // one element: it is time for a look

	sentRate uint64 // of confirming alone
	sentAt   time.Time
}

// onMessage notes a message on its way, and calls for a look now and then.
func (p *pacing) onMessage(now time.Time, bytes int) {
	p.passed += bytes + messageCost
	since := now.Sub(p.checkedAt)
	if since < paceEvery || p.passed < paceAfter && since < paceAgain || p.checkedAt.IsZero() && p.passed < paceAfter {
		return
	}
	p.passed, p.checkedAt = 0, now
	select {
	case p.checkDue <- struct{}{}:
	default: // one is due already
	}
}

// updatePace has a source's node read no faster than others can bear.
func (m *merger) updatePace(ctx context.Context, source *leader.Source, p *outputProgress) {
	hosts := m.hosts.path(p.agentAddress(), m.stream.Peer().Addr)
	hosts, err := m.attachment.Contended(ctx, source.Job, hosts, m.hosts.alias)
	if err != nil {
		return // the next look may tell
	}
	now := time.Now()
	rate := m.flows.rate(hosts, p, now)
	if rate == p.pacing.sentRate && (rate == 0 || now.Sub(p.pacing.sentAt) < paceAgain) {
		return
	}
	p.pacing.sentRate, p.pacing.sentAt = rate, now
	request := connect.NewRequest(&scorev1.PaceOutputRequest{JobId: source.Job, Attempt: source.Attempt, BytesPerSecond: rate})
	// An agent of an earlier version knows no pace; one that is lost hears it again after its
	// successor's first output.
	_, _ = m.agent(source.Node, p.agentAddress()).PaceOutput(ctx, request)
}
