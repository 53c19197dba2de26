package link

import (
	"math/rand/v2"
	"time"
)

const (
	// heldMost bounds what a faulty port holds back; the oldest goes when one more comes.
	heldMost = 256
	// overtakers bounds by how many datagrams a reordered one is overtaken.
	overtakers = 4
	// strayTime is after what time a reordered datagram goes though nothing has overtaken it: by as
	// much as the paths and queues of one machine room differ. A longer one would be a delay, of
	// which Delay tells: each message of a program that waits for the answer to its last is held
	// for all of it.
	strayTime = 5 * time.Microsecond
	// flipsMost bounds the bits of a corrupted datagram that are flipped: so many CRC-32C finds
	// always (Hamming distance 4 at lengths like these).
	flipsMost = 3
)

// faulty does to the datagrams that leave through a port what a bad network would do.
type faulty struct {
	Port
	faults Faults
	dice   *rand.Rand
	now    func() time.Time
	room   []byte // what Buffer returns
	held   []held // in the order of their coming
	spare  [][]byte
	lost   uint64
}

// held is a datagram that goes later.
type held struct {
	to   Address
	data []byte
	due  time.Time
	wait int // so many others go first, unless it is due
}

// WithFaults returns the port behind a network that is as bad as f says; if f is none, the port
// itself. What is held back goes in later calls: the port is a [Holder].
func WithFaults(p Port, f Faults) Port {
	if f.None() {
		return p
	}
	seed := f.Seed
	if seed == 0 {
		seed = rand.Uint64()
	}
	return &faulty{Port: p, faults: f, dice: rand.New(rand.NewPCG(seed, 0)), now: time.Now, room: make([]byte, MaxDatagram)}
}

// Guarded implements Guarded: what is corrupted here no checksum of the transport notices.
func (p *faulty) Guarded() bool {
	g, ok := p.Port.(Guarded)
	return ok && g.Guarded() && p.faults.Corrupt == 0
}

// Buffer implements Port.
func (p *faulty) Buffer() []byte {
	p.release()
	return p.room
}

// Queue implements Port: here the dice fall.
func (p *faulty) Queue(to Address, n int) {
	if n == 0 {
		return
	}
	if p.happens(p.faults.Loss) {
		p.lost++
		return
	}
	if p.happens(p.faults.Corrupt) {
		for range 1 + p.dice.IntN(flipsMost) {
			bit := p.dice.IntN(8 * n)
			p.room[bit/8] ^= 1 << (bit % 8)
		}
	}
	p.enter(to, p.room[:n])
	if p.happens(p.faults.Duplicate) {
		p.enter(to, p.room[:n])
	}
}

func (p *faulty) happens(probability float64) bool {
	return probability > 0 && p.dice.Float64() < probability
}

// enter lets a datagram go, or holds it.
func (p *faulty) enter(to Address, data []byte) {
	stray := p.happens(p.faults.Reorder)
	if !stray && p.faults.Delay == 0 {
		p.send(to, data)
		p.passed()
		return
	}
	if len(p.held) == heldMost {
		p.sendHeld(0)
	}
	h := held{to: to, data: append(p.memory(), data...), due: p.now().Add(p.faults.Delay)}
	if stray {
		h.due, h.wait = h.due.Add(strayTime), 1+p.dice.IntN(overtakers)
	}
	p.held = append(p.held, h)
}

// memory returns some that was used before.
func (p *faulty) memory() []byte {
	n := len(p.spare)
	if n == 0 {
		return nil
	}
	m := p.spare[n-1]
	p.spare = p.spare[:n-1]
	return m[:0]
}

// send hands a datagram to the real port.
func (p *faulty) send(to Address, data []byte) {
	copy(p.Port.Buffer(), data)
	p.Port.Queue(to, len(data))
}

// sendHeld sends the held datagram with the index.
func (p *faulty) sendHeld(i int) {
	h := p.held[i]
	p.held = append(p.held[:i], p.held[i+1:]...)
	p.send(h.to, h.data)
	p.spare = append(p.spare, h.data)
}

// passed tells the strays that a datagram has overtaken them.
func (p *faulty) passed() {
	for i := range p.held {
		if p.held[i].wait > 0 {
			p.held[i].wait--
		}
	}
}

// release sends what was held long enough, and reports whether there was any.
func (p *faulty) release() bool {
	if len(p.held) == 0 {
		return false
	}
	now, any := p.now(), false
	for i := 0; i < len(p.held); {
		h := &p.held[i]
		if p.stays(h) && now.Before(h.due) {
			i++
			continue
		}
		p.sendHeld(i)
		any = true
	}
	return any
}

// stays reports whether a held datagram waits for its time.
func (p *faulty) stays(h *held) bool { return h.wait > 0 || p.faults.Delay > 0 }

// Wait implements Holder.
func (p *faulty) Wait() (wait time.Duration, holds bool) {
	if len(p.held) == 0 {
		return 0, false
	}
	first := p.held[0].due
	for i := range p.held {
		h := &p.held[i]
		if !p.stays(h) {
			return 0, true
		}
		if h.due.Before(first) {
			first = h.due
		}
	}
	return first.Sub(p.now()), true
}

// Flush implements Port.
func (p *faulty) Flush() {
	p.release()
	p.Port.Flush()
}

// Receive implements Port.
func (p *faulty) Receive(handle func(from Address, data []byte)) int {
	if p.release() {
		p.Port.Flush()
	}
	return p.Port.Receive(handle)
}

// Stats implements Port; what the dice lost counts as dropped.
func (p *faulty) Stats() Stats {
	s := p.Port.Stats()
	s.Dropped += p.lost
	return s
}
