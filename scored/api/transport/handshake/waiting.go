package handshake

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
)

// ErrCrowded means that a connection was closed because it had not authenticated when too many
// others came.
var ErrCrowded = errors.New("too many connections have not authenticated; the oldest of them were closed")

// Waiting holds connections that have not authenticated yet.
type Waiting struct {
	// Max bounds all, MaxPerAddress those of one address. Each costs a descriptor, a goroutine
	// and some 10 kB.
	Max, MaxPerAddress int

	mu     sync.Mutex
	total  int
	guests map[string][]*Pending // by address; the one that has waited longest first
}

// Pending is one of these connections.
type Pending struct {
	waiting *Waiting
	conn    net.Conn
	from    string
	evicted bool
}

// Add adds a connection, and closes another one if there are too many.
func (w *Waiting) Add(conn net.Conn) *Pending {
	g := &Pending{waiting: w, conn: conn, from: origin(conn.RemoteAddr())}
	w.mu.Lock()
	var victim *Pending
	switch {
	case len(w.guests[g.from]) >= w.MaxPerAddress:
		victim = w.guests[g.from][0]
	case w.total >= w.Max:
		victim = w.oldestOfBusiest()
	}
	if victim != nil {
		victim.evicted = true
		w.remove(victim)
	}
	if w.guests == nil {
		w.guests = make(map[string][]*Pending)
	}
	w.guests[g.from] = append(w.guests[g.from], g)
	w.total++
	w.mu.Unlock()
	if victim != nil {
		_ = victim.conn.Close() // nothing of importance was sent on it
	}
	return g
}

// Leave removes the connection: it has authenticated, or has ended. The error is ErrCrowded if it
// was closed before.
func (g *Pending) Leave() error {
	g.waiting.mu.Lock()
	defer g.waiting.mu.Unlock()
	if g.evicted {
		return ErrCrowded
	}
	g.waiting.remove(g)
	return nil
}

// oldestOfBusiest returns the oldest connection of the address that has the most. The caller holds
// mu.
func (w *Waiting) oldestOfBusiest() *Pending {
	var busiest []*Pending
	for _, guests := range w.guests {
		if len(guests) > len(busiest) {
			busiest = guests
		}
	}
	return busiest[0]
}

// remove removes a connection if it is there. The caller holds mu.
func (w *Waiting) remove(g *Pending) {
	i := slices.Index(w.guests[g.from], g)
	if i < 0 {
		return
	}
	w.total--
	if w.guests[g.from] = slices.Delete(w.guests[g.from], i, i+1); len(w.guests[g.from]) == 0 {
		delete(w.guests, g.from)
	}
}

// networkBits is the longest prefix of IPv6 addresses that one owner has (RFC 6177).
const networkBits = 64

// origin returns what connections are counted by: the address, for IPv6 its network.
func origin(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return addr.String()
	}
	ip := tcp.AddrPort().Addr().Unmap().WithZone("")
	if ip.Is4() || ip.IsLoopback() {
		return ip.String()
	}
	return netip.PrefixFrom(ip, networkBits).Masked().String()
}
