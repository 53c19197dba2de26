package rpc

import (
	"context"
	"score/scored/api/agentpb"
	"score/scored/leader"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
)

const (
	// carriedPerCPU is how much output a host carries per second and CPU, in bytes, while other
	// jobs compute on its CPUs: it costs some hundredths of their time (docs/BENCHMARKS.md).
	carriedPerCPU = 2 << 20
	// minCarried is what each stream may always have, however many there are.
	minCarried = 64 << 10
	// messageCost is added to the bytes of each message; the nodes' stewards count the same way.
	messageCost = 32 << 10
	// paceEvery is the least time between two checks whether other jobs compute on the hosts, and
	// paceAfter the output between two checks: a little output costs nothing, and needs no check.
	paceEvery = 100 * time.Millisecond
	paceAfter = 512 << 10
	// paceInterval is the interval at which a pace is sent again; nodes forget it after three times
	// as long.
	paceInterval = time.Second
	// flowLasts is the time without output after which a stream gives up its share.
	flowLasts = 2 * time.Second
)

// flows holds the streams that may have a pace, and what users may have carried at once, by the
// hosts that carry them.
type flows struct {
	mu     sync.Mutex
	seen   map[string]map[*outputProgress]time.Time
	bursts map[string]*bursts
}

func newFlows() *flows {
	return &flows{seen: map[string]map[*outputProgress]time.Time{}, bursts: map[string]*bursts{}}
}

// beside counts the streams that a host carries, including p.
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

// rate returns how many bytes per second the contended hosts carry for a user's stream; 0: no
// limit. passed is what the stream has carried since the last call, in bytes with messageCost.
func (f *flows) rate(hosts []leader.Host, uid uint32, p *outputProgress, passed int, now time.Time) (rate uint64) {
	for _, host := range hosts {
		whole := carriedPerCPU * host.CPUs
		part := uint64(max(whole/f.beside(host.Name, p, now), minCarried))
		if f.mayBurst(host.Name, uid, passed, whole, now) {
			continue
		}
		if rate == 0 || part < rate {
			rate = part
		}
	}
	return rate
}

// mayBurst takes bytes from the user's allowance at a host, and reports whether there is more.
func (f *flows) mayBurst(host string, uid uint32, passed, perSecond int, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.bursts[host]
	if b == nil {
		b = &bursts{users: map[uint32]*allowance{}}
		f.bursts[host] = b
	}
	return b.use(uid, passed, perSecond, now)
}

// pacing is the pace that a source's node was sent, and the output since the last check.
type pacing struct {
	passed    atomic.Int64  // since the last check, in bytes with messageCost
	checkedAt time.Time     // when a check was requested last; used by fetch only
	checkDue  chan struct{} // one element: a check is due

	sentRate uint64 // used by confirming only
	sentAt   time.Time
}

// onMessage counts a message, and requests a check when one is due.
func (p *pacing) onMessage(now time.Time, bytes int) {
	passed := p.passed.Add(int64(bytes + messageCost))
	since := now.Sub(p.checkedAt)
	if since < paceEvery || passed < paceAfter && since < paceInterval || p.checkedAt.IsZero() && passed < paceAfter {
		return
	}
	p.checkedAt = now
	select {
	case p.checkDue <- struct{}{}:
	default: // one is pending
	}
}

// updatePace sends the source's node the pace that the hosts on the way allow.
func (m *merger) updatePace(ctx context.Context, source *leader.Source, p *outputProgress) {
	hosts := m.hosts.path(p.agentAddress(), m.stream.Peer().Addr)
	hosts, err := m.attachment.Contended(ctx, source.Job, hosts, m.hosts.alias)
	if err != nil {
		return // the next check may succeed
	}
	now := time.Now()
	rate := m.flows.rate(hosts, m.uid, p, int(p.pacing.passed.Swap(0)), now)
	if rate == p.pacing.sentRate && (rate == 0 || now.Sub(p.pacing.sentAt) < paceInterval) {
		return
	}
	p.pacing.sentRate, p.pacing.sentAt = rate, now
	request := connect.NewRequest(&agentpb.PaceOutputRequest{JobId: source.Job, Attempt: source.Attempt, BytesPerSecond: rate})
	// An agent of an earlier version has no pace. A restarted agent gets it again after its first
	// output.
	_, _ = m.agent(source.Node, p.agentAddress()).PaceOutput(ctx, request)
}
