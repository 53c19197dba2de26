package link

// faultyBulk does to bulk datagrams that leave what a bad network would do. What it holds goes in
// later calls of Send and Peek; if there are none it is lost, as any bulk datagram may be.
type faultyBulk struct {
	Bulk
	delayQueue[bulkDatagram]
}

type bulkDatagram struct {
	to   Address
	head [BulkBytes]byte
	data []byte
}

// WithBulkFaults is WithFaults for bulk datagrams. Those of a link that corrupts carry a checksum.
func WithBulkFaults(b Bulk, f Faults) Bulk {
	if f.None() {
		return b
	}
	return &faultyBulk{b, newDelayQueue[bulkDatagram](f, 1)}
}

// Summed implements Bulk.
func (b *faultyBulk) Summed() bool { return b.faults.Corrupt > 0 }

// Send implements Bulk: here the dice fall.
func (b *faultyBulk) Send(to Address, head *[BulkBytes]byte, data []byte, lasting bool) error {
	b.release(b.sendHeld)
	if b.happens(b.faults.Loss) {
		return nil
	}
	corrupt, stray := b.happens(b.faults.Corrupt), b.happens(b.faults.Reorder)
	if !corrupt && !stray && b.faults.Delay == 0 {
		err := b.Bulk.Send(to, head, data, lasting)
		if err == nil && b.happens(b.faults.Duplicate) {
			_ = b.Bulk.Send(to, head, data, lasting) // a copy may be lost
		}
		b.passed()
		return err
	}
	h := bulkDatagram{to, *head, append([]byte(nil), data...)}
	if corrupt {
		b.flip(&h)
	}
	b.hold(h, stray, b.sendHeld)
	b.release(b.sendHeld)
	return nil
}

// flip flips bits of a datagram, no more than a CRC-32C surely finds.
func (b *faultyBulk) flip(h *bulkDatagram) {
	for range 1 + b.dice.IntN(maxFlips) {
		bit := b.dice.IntN(8 * (BulkBytes + len(h.data)))
		if at := bit/8 - BulkBytes; at >= 0 {
			h.data[at] ^= 1 << (bit % 8)
		} else {
			h.head[bit/8] ^= 1 << (bit % 8)
		}
	}
}

// sendHeld sends what was held; what the system does not take is lost. The copy of its bytes does
// not last.
func (b *faultyBulk) sendHeld(h bulkDatagram) { _ = b.Bulk.Send(h.to, &h.head, h.data, false) }

// Peek implements Bulk.
func (b *faultyBulk) Peek() (from Address, head []byte, ok bool) {
	b.release(b.sendHeld)
	return b.Bulk.Peek()
}
