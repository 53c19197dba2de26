package drive

import (
	"score/channels/abi"
	"score/channels/link"
	"testing"
)

// wide is a port on a path that takes long datagrams, whose bytes the transport guards.
type wide struct {
	*port
	size int
	tail []byte
}

func (p *wide) Size(link.Address) int { return p.size }
func (p *wide) Guarded() bool         { return true }
func (p *wide) Borrow(data []byte)    { p.tail = data }

func (p *wide) Buffer() []byte {
	p.tail = nil
	return p.port.Buffer()
}

func (p *wide) Queue(to link.Address, n int) {
	p.r.w.transmit(datagram{p.r.address, to, append(append([]byte(nil), p.buf[:n]...), p.tail...)})
	p.tail = nil
}

// TestGuarded: the CRC leaves long frames out where the transport guards them, and not of what goes
// in fragments, as do frames that were cut before the path became narrow.
func TestGuarded(t *testing.T) {
	const path, narrow = 9000, 1472
	w := newWorld(t, 2, abi.Geometry{})
	from := w.ranks[0]
	p := &wide{port: &port{r: from}, size: path}
	var err error
	if from.process, err = New(from.img, p, from.process.where, abi.RoleProcess); err != nil {
		t.Fatal(err)
	}
	exchangeOne(t, w, 0, 30) // so that the address is known
	guarded, others, lost := 0, 0, false
	w.fate = func(d datagram) []datagram {
		if h, frames := parse(t, d.data); h.Kind == link.Data && d.from == from.address {
			f, _ := frames.Next()
			switch {
			case h.Guarded != (len(f.Data) >= link.LongFrame && len(d.data) <= p.size):
				t.Errorf("a datagram of %d bytes, the path takes %d: guarded %v", len(d.data), p.size, h.Guarded)
			case h.Guarded:
				guarded++
			default:
				others++
			}
			if lost {
				return nil
			}
		}
		return []datagram{d}
	}
	exchangeOne(t, w, 1, 3*path)
	exchangeOne(t, w, 2, link.LongFrame-1)
	if guarded != 4 || others != 1 {
		t.Errorf("%d datagrams are guarded, and %d are not", guarded, others)
	}
	lost = true
	if !from.send(1, message(0, 1, 3, path-headBytes)) {
		t.Fatal("no space")
	}
	lost, p.size = false, narrow
	finish(t, w, 3, path-headBytes)
	if guarded != 5 || others < 2 {
		t.Errorf("%d datagrams were guarded, and %d were not", guarded, others)
	}
}
