package link

import "time"

const (
	// maxHeld bounds what a faulty port holds back; the oldest goes when one more comes.
	maxHeld = 256
	// overtakers bounds by how many datagrams a reordered one is overtaken.
	overtakers = 4
	// strayTime is the longest time for which a reordered datagram is held back if nothing
	// overtakes it: about the difference between the paths and queues of one machine room. A longer
	// time would act as a delay, which Delay is for: a program that waits for each answer would pay
	// all of it with every message.
	strayTime = 5 * time.Microsecond
	// maxFlips bounds the flipped bits of a corrupted datagram: CRC-32C always detects up to three
	// (Hamming distance 4 at these lengths).
	maxFlips = 3
)

// faulty does to the datagrams that leave through a port what a bad network would do.
type faulty struct {
	Port
	delayQueue[datagram]
	room  []byte // what Buffer returns
	spare [][]byte
	lost  uint64
}

type datagram struct {
	to   Address
	data []byte
}

// WithFaults returns the port behind a network that is as bad as f says; if f is none, the port
// itself. What is held back goes in later calls: the port is a [Holder].
func WithFaults(p Port, f Faults) Port {
	if f.None() {
		return p
	}
	return &faulty{Port: p, delayQueue: newDelayQueue[datagram](f, 0), room: make([]byte, MaxDatagram)}
}

// Guarded implements Guarded: no checksum of the transport detects what is corrupted here.
func (p *faulty) Guarded() bool {
	g, ok := p.Port.(Guarded)
	return ok && g.Guarded() && p.faults.Corrupt == 0
}

// Buffer implements Port.
func (p *faulty) Buffer() []byte {
	p.release(p.sendHeld)
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
		for range 1 + p.dice.IntN(maxFlips) {
			bit := p.dice.IntN(8 * n)
			p.room[bit/8] ^= 1 << (bit % 8)
		}
	}
	p.enter(to, p.room[:n])
	if p.happens(p.faults.Duplicate) {
		p.enter(to, p.room[:n])
	}
}

// enter sends a datagram, or holds it.
func (p *faulty) enter(to Address, data []byte) {
	stray := p.happens(p.faults.Reorder)
	if !stray && p.faults.Delay == 0 {
		p.send(to, data)
		p.passed()
		return
	}
	p.hold(datagram{to, append(p.memory(), data...)}, stray, p.sendHeld)
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

// sendHeld sends what was held.
func (p *faulty) sendHeld(d datagram) {
	p.send(d.to, d.data)
	p.spare = append(p.spare, d.data)
}

// Wait implements Holder.
func (p *faulty) Wait() (wait time.Duration, holds bool) { return p.next() }

// Flush implements Port.
func (p *faulty) Flush() {
	p.release(p.sendHeld)
	p.Port.Flush()
}

// Receive implements Port.
func (p *faulty) Receive(handle func(from Address, data []byte)) int {
	if p.release(p.sendHeld) {
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
