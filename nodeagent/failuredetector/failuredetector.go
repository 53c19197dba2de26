package failuredetector

import (
	"slices"
	"time"
)

const (
	// ProbeEvery is the time between two probes of a neighbour.
	ProbeEvery = 500 * time.Millisecond
	// SuspectAfter is how long a neighbour may be silent: four probes. A loss is thus suspected
	// within 2.5 s, including the time to the next probe. An agent that stood still for a second is
	// not suspected.
	SuspectAfter = 2 * time.Second
	// linkTolerance is the silence after which TIPC declares a link down, unless it is configured
	// otherwise.
	linkTolerance = 1500 * time.Millisecond
	// maxLate is how late a Tick may be. If it is later, this process itself was not running, and
	// the answers that it missed mean nothing.
	maxLate = 2 * ProbeEvery
)

// How is the way in which a neighbour fails to answer.
type How uint8

const (
	// Fine means that it answers.
	Fine How = iota
	// Refused means that its host answers, but no agent listens.
	Refused
	// Hung means that its host accepts connections, but the agent does not answer.
	Hung
	// Unreachable means that its host does not answer.
	Unreachable
)

// Peer is a neighbour to watch.
type Peer struct {
	Name    string
	Address string // host:port
}

// Effect is a probe to send, if Probe is not 0, or a report to the leader.
type Effect struct {
	Peer  Peer
	Probe uint64 // its number
	How   How
}

// watched is the state of one neighbour.
type watched struct {
	Peer
	answered time.Time // of the last answer, or of the beginning
	next     time.Time // when it is probed next
	probe    uint64    // the newest probe
	reported How       // the last report
	missing  How       // of the last probe that failed
}

// Machine watches the neighbours of one node.
type Machine struct {
	peers   []*watched
	numbers uint64
	ticked  time.Time
	effects []Effect
}

// New returns a machine that watches nobody.
func New() *Machine { return &Machine{} }

// Watch sets the peers to watch. It keeps the state of peers that were watched before.
func (m *Machine) Watch(now time.Time, peers []Peer) {
	before := m.peers
	m.peers = make([]*watched, 0, len(peers))
	for _, p := range peers {
		i := slices.IndexFunc(before, func(w *watched) bool { return w.Peer == p })
		if i >= 0 {
			m.peers = append(m.peers, before[i])
			continue
		}
		m.peers = append(m.peers, &watched{Peer: p, answered: now, next: now})
	}
}

// Answered handles the answer to a probe. The slice is valid until the next call.
func (m *Machine) Answered(now time.Time, peer string, probe uint64) []Effect {
	m.effects = m.effects[:0]
	w := m.find(peer, probe)
	if w == nil {
		return m.effects
	}
	w.answered, w.missing = now, Fine
	m.report(w, Fine)
	return m.effects
}

// Failed handles the failure of a probe.
func (m *Machine) Failed(now time.Time, peer string, probe uint64, how How) []Effect {
	m.effects = m.effects[:0]
	if w := m.find(peer, probe); w != nil {
		w.missing = how
		m.suspect(now, w)
	}
	return m.effects
}

// Missed handles the report of another detector (TIPC) that a peer was silent for the link's
// tolerance. The machine probes the peer at once, and suspects it if it does not answer within the
// rest of SuspectAfter.
func (m *Machine) Missed(now time.Time, peer string) {
	for _, w := range m.peers {
		if w.Name != peer || w.reported != Fine {
			continue
		}
		w.next = now
		if silent := now.Add(-linkTolerance); silent.Before(w.answered) {
			w.answered = silent
		}
	}
}

// Tick returns the effects that are due; call it at Deadline.
func (m *Machine) Tick(now time.Time) []Effect {
	m.effects = m.effects[:0]
	if !m.ticked.IsZero() && now.Sub(m.ticked) > maxLate {
		for _, w := range m.peers {
			w.answered, w.missing = now, Fine
		}
	}
	m.ticked = now
	for _, w := range m.peers {
		m.suspect(now, w)
		if now.Before(w.next) {
			continue
		}
		m.numbers++
		w.probe, w.next = m.numbers, now.Add(ProbeEvery)
		m.effects = append(m.effects, Effect{Peer: w.Peer, Probe: w.probe})
	}
	return m.effects
}

// Deadline returns when Tick must be called next.
func (m *Machine) Deadline(now time.Time) time.Time {
	next := now.Add(ProbeEvery)
	for _, w := range m.peers {
		if w.next.Before(next) {
			next = w.next
		}
	}
	return next
}

// Suspects repeats the reports, for a leader that may not have them.
func (m *Machine) Suspects() []Effect {
	m.effects = m.effects[:0]
	for _, w := range m.peers {
		if w.reported != Fine {
			m.effects = append(m.effects, Effect{Peer: w.Peer, How: w.reported})
		}
	}
	return m.effects
}

// find returns a watched peer; nil if it is not watched or the probe was never sent.
func (m *Machine) find(peer string, probe uint64) *watched {
	for _, w := range m.peers {
		if w.Name == peer && probe != 0 && probe <= w.probe {
			return w
		}
	}
	return nil
}

// suspect reports a peer that has not answered for long and whose last probe has failed.
func (m *Machine) suspect(now time.Time, w *watched) {
	if w.missing != Fine && now.Sub(w.answered) >= SuspectAfter {
		m.report(w, w.missing)
	}
}

// report reports a change to the leader.
func (m *Machine) report(w *watched, how How) {
	if w.reported != how {
		w.reported = how
		m.effects = append(m.effects, Effect{Peer: w.Peer, How: how})
	}
}
