package drive

import (
	"score/channels/abi"
	"score/channels/link"
	"testing"
)

// connPort sends all that may go so through a socket that only sends.
type connPort struct {
	port
	at link.Address
}

func (p *connPort) Connected(link.Address) bool { return true }

func (p *connPort) QueueConnected(to link.Address, n int) {
	if n > 0 {
		p.r.w.transmit(datagram{p.at, to, append([]byte(nil), p.buf[:n]...)})
	}
}

// connect gives all drivers of a rank such a port.
func (r *rank) connect() {
	for i, d := range []*Driver{r.process, r.agent} {
		p := &connPort{port{r: r}, address(int(r.number), uint16(900+i))}
		d.port, d.conn = p, p
	}
}

// TestSendOnly: the source of a send-only datagram is not the sender's address. A driver that does
// not know that address asks the directory, as for a new peer.
func TestSendOnly(t *testing.T) {
	w := newWorld(t, 2, abi.Geometry{})
	for _, r := range w.ranks {
		r.connect()
	}
	for i := range 20 {
		exchangeOne(t, w, i, mixed(i))
		w.ranks[i%2].drive(i%4 < 2) // the drivers take turns
	}
	for i, r := range w.ranks {
		for _, d := range []*Driver{r.process, r.agent} {
			if p := d.peers[1-i]; p != nil && !p.address.None() && p.address != w.ranks[1-i].address {
				t.Errorf("rank %d takes its peer to be at %v, want %v", i, p.address, w.ranks[1-i].address)
			}
		}
		if p := r.process.peers[1-i]; p.sending != address(1-i, 900) && p.sending != address(1-i, 901) {
			t.Errorf("rank %d heard its peer from %v", i, p.sending)
		}
	}
}
