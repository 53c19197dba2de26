package link

import (
	"math/rand/v2"
	"time"
)

// faultyBulk does to bulk datagrams that leave what a bad network would do. What it holds goes in
// later calls of Send and Peek; if there are none it is lost, as any bulk datagram may be.
type faultyBulk struct {
	Bulk
	faults Faults
	dice   *rand.Rand
	now    func() time.Time
	held   []heldBulk // in the order of their coming
}

type heldBulk struct {
	to   Address
	head [BulkBytes]byte
	data []byte
	due  time.Time
	wait int // so many others go first, unless it is due
}

// WithBulkFaults is WithFaults for bulk datagrams. Those of a link that corrupts carry a checksum.
func WithBulkFaults(b Bulk, f Faults) Bulk {
	if f.None() {
		return b
	}
	seed := f.Seed
	if seed == 0 {
		seed = rand.Uint64()
	}
	return &faultyBulk{Bulk: b, faults: f, dice: rand.New(rand.NewPCG(seed, 1)), now: time.Now}
}

// Summed implements Bulk.
func (b *faultyBulk) Summed() bool { return b.faults.Corrupt > 0 }

// Send implements Bulk: here the dice fall.
func (b *faultyBulk) Send(to Address, head *[BulkBytes]byte, data []byte) error {
	b.release()
	if b.happens(b.faults.Loss) {
		return nil
	}
	corrupt, stray := b.happens(b.faults.Corrupt), b.happens(b.faults.Reorder)
	if !corrupt && !stray && b.faults.Delay == 0 {
		err := b.Bulk.Send(to, head, data)
		if err == nil && b.happens(b.faults.Duplicate) {
			_ = b.Bulk.Send(to, head, data) // a copy may be lost
		}
		b.passed()
		return err
	}
	h := heldBulk{to: to, head: *head, data: append([]byte(nil), data...), due: b.now().Add(b.faults.Delay)}
	if corrupt {
		b.flip(&h)
	}
	if stray {
		h.due, h.wait = h.due.Add(strayTime), 1+b.dice.IntN(overtakers)
	}
	if len(b.held) == heldMost {
		b.sendHeld(0)
	}
	b.held = append(b.held, h)
	b.release()
	return nil
}

func (b *faultyBulk) happens(probability float64) bool {
	return probability > 0 && b.dice.Float64() < probability
}

// flip flips bits of a datagram, no more than a CRC-32C surely finds.
func (b *faultyBulk) flip(h *heldBulk) {
	for range 1 + b.dice.IntN(flipsMost) {
		bit := b.dice.IntN(8 * (BulkBytes + len(h.data)))
		if at := bit/8 - BulkBytes; at >= 0 {
			h.data[at] ^= 1 << (bit % 8)
		} else {
			h.head[bit/8] ^= 1 << (bit % 8)
		}
	}
}

// passed tells the held datagrams that another one has overtaken them.
func (b *faultyBulk) passed() {
	for i := range b.held {
		b.held[i].wait = max(b.held[i].wait-1, 0)
	}
}

// release sends what was held long enough.
func (b *faultyBulk) release() {
	if len(b.held) == 0 {
		return
	}
	now := b.now()
	for i := 0; i < len(b.held); {
		h := &b.held[i]
		if (h.wait > 0 || b.faults.Delay > 0) && now.Before(h.due) {
			i++
			continue
		}
		b.sendHeld(i)
	}
}

// sendHeld sends the held datagram with the index; what the system does not take is lost.
func (b *faultyBulk) sendHeld(i int) {
	h := b.held[i]
	b.held = append(b.held[:i], b.held[i+1:]...)
	_ = b.Bulk.Send(h.to, &h.head, h.data)
}

// Peek implements Bulk.
func (b *faultyBulk) Peek() (from Address, head []byte, ok bool) {
	b.release()
	return b.Bulk.Peek()
}
