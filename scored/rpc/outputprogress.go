package rpc

import (
	"context"
	"score/scored/api/scorev1"
	"sync"
)

// confirmEvery is the number of bytes sent to a client that confirms nothing itself after which the
// server confirms them to the nodes: a quarter of what nodes keep.
const confirmEvery = 128 << 10

// sourceKey identifies a source of output.
type sourceKey struct {
	job     uint64
	attempt uint32
	node    uint32 // index into the job's places
}

func sourceKeyOf(m *scorev1.OutputMark) sourceKey {
	return sourceKey{m.GetJobId(), m.GetAttempt(), m.GetNodeIndex()}
}

// outputProgress is how far the output of one source has come.
type outputProgress struct {
	confirms bool        // the client confirms; else output counts as shown once it is sent
	shown    chan uint64 // the newest number to confirm; one element
	pacing   pacing

	mu          sync.Mutex
	address     string
	offered     uint64        // number of the output offered last: the client may have it by now
	last        uint64        // number of the output sent last
	unconfirmed int           // bytes
	confirmed   uint64        // number of the last output that the client has
	changed     chan struct{} // closed, and replaced, when confirmed grows
}

func (p *outputProgress) reached() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

func (p *outputProgress) agentAddress() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.address
}

func (p *outputProgress) move(address string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.address = address
}

// onOffer records output that is about to go to the writer; the client may confirm it any time
// after that.
func (p *outputProgress) onOffer(number uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.offered = number
}

// mayBeShown reports whether the client can have the output that it confirms.
func (p *outputProgress) mayBeShown(number uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return number <= max(p.offered, p.last)
}

// onPassed records output that was given to the writer.
func (p *outputProgress) onPassed(number uint64, bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = number
	if p.confirms {
		return
	}
	p.setConfirmed(number)
	if p.unconfirmed += bytes; p.unconfirmed >= confirmEvery {
		p.unconfirmed = 0
		p.confirm(number)
	}
}

// confirm queues a number for the node. Only the newest number counts.
func (p *outputProgress) confirm(number uint64) {
	for {
		select {
		case p.shown <- number:
			return
		case older := <-p.shown:
			number = max(number, older)
		}
	}
}

// setConfirmed records what the client has.
func (p *outputProgress) setConfirmed(number uint64) {
	if number <= p.confirmed {
		return
	}
	p.confirmed = number
	close(p.changed)
	p.changed = make(chan struct{})
}

// awaitConfirmed waits until the client has confirmed all output sent to it. It returns false if
// ctx ends first.
func (p *outputProgress) awaitConfirmed(ctx context.Context) bool {
	for {
		p.mu.Lock()
		all, grown := p.confirmed >= p.last, p.changed
		p.mu.Unlock()
		if all {
			return true
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return false
		}
	}
}
