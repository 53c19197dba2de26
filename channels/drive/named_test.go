package drive

import (
	"score/channels"
	"score/channels/abi"
	"score/channels/link"
	"score/channels/rankmap"
	"testing"
)

// named is a world whose ranks are found by name.
type named struct {
	*world
	names link.Names
	// squatter receives what is sent to names, and answers as it likes.
	squatter func(d datagram) []datagram
	asked    int // questions that came to directories
	answers  uint8
	deaf     bool // contexts' names are not bound
}

func newNamedWorld(t *testing.T, ranks uint32) *named {
	t.Helper()
	n := &named{world: newWorld(t, 0, abi.Geometry{}), names: link.NamesOf(18888, testKey, ranks, ranks), answers: link.StatusHere}
	n.fate = n.route
	var nodeOf []uint32
	for i := range ranks {
		n.dirs = append(n.dirs, n.names.Directory(i))
		nodeOf = append(nodeOf, i)
	}
	for i := range ranks {
		where, err := rankmap.New(i, n.dirs, nodeOf)
		if err != nil {
			t.Fatal(err)
		}
		r := n.newRank(int(i), abi.Geometry{Ranks: ranks, LocalRanks: 1}, where)
		r.address = link.SocketAddress(0x1000+i, 100+i)
		n.ranks = append(n.ranks, r)
	}
	return n
}

// route takes what is sent to a name to whoever has bound it.
func (n *named) route(d datagram) (arriving []datagram) {
	_, instance, isName := d.to.Name()
	if !isName {
		return []datagram{d}
	}
	if n.squatter != nil {
		arriving = n.squatter(d)
	}
	m, ok := n.names.Find(instance)
	switch {
	case !ok || n.deaf && !m.Directory:
	case m.Directory:
		n.asked++
		if answer, ok := n.answer(m.Node, d); ok {
			arriving = append(arriving, answer)
		}
	default:
		arriving = append(arriving, datagram{d.from, n.ranks[m.Rank].address, d.data})
	}
	return arriving
}

// answer is a directory's.
func (n *named) answer(node uint32, d datagram) (datagram, bool) {
	q, err := link.ParseSealed(d.data)
	if err != nil || !link.Opens(d.data, testKey, d.from, link.Address{}) {
		n.t.Errorf("a directory was sent %x", d.data)
		return datagram{}, false
	}
	from := link.SocketAddress(0x1000+node, 1)
	a := link.Sealed{Kind: link.Here, Channel: q.Channel, From: q.To, To: q.From, Status: n.answers}
	if a.Status == link.StatusHere {
		_, a.Name, _ = n.ranks[q.To].address.Socket()
	}
	b := make([]byte, link.SealedBytes)
	a.Put(b, testKey, from, d.from)
	return datagram{from, d.from, b}, true
}

// TestNamed exchanges messages between ranks that know each other's names only.
func TestNamed(t *testing.T) {
	for what, deaf := range map[string]bool{"the context answers": false, "the directory makes the context": true} {
		t.Run(what, func(t *testing.T) {
			n := newNamedWorld(t, 2)
			n.deaf = deaf
			for i := range 20 {
				exchangeOne(t, n.world, i, 100*i*i+8)
			}
			if n.asked != 1 {
				t.Errorf("%d questions to directories", n.asked)
			}
		})
	}
}

// TestNoSecretsToNames: nothing that has the job's key or a message is sent to a name, and a
// squatter that replays what it received, to whomever, changes nothing.
func TestNoSecretsToNames(t *testing.T) {
	n := newNamedWorld(t, 3)
	squatter := link.SocketAddress(0x2000, 666)
	n.squatter = func(d datagram) (all []datagram) {
		if _, _, err := link.Parse(d.data); err == nil || len(d.data) != link.SealedBytes {
			t.Errorf("a name was sent %x", d.data)
		}
		for _, r := range n.ranks {
			all = append(all, datagram{squatter, r.address, d.data}) // replayed
			forged := link.Sealed{Kind: link.Here, Channel: 1, From: 1, To: r.number, Name: 666, Status: link.StatusHere}
			b := make([]byte, link.SealedBytes)
			forged.Put(b, 12345, squatter, r.address)
			all = append(all, datagram{squatter, r.address, b})
		}
		return all
	}
	for i := range 10 {
		exchangeOne(t, n.world, i, 5000)
	}
	for _, r := range n.ranks {
		for _, d := range []*Driver{r.process, r.agent} {
			for _, p := range d.peers {
				if p != nil && p.address == squatter {
					t.Errorf("rank %d sends to the squatter", r.number)
				}
			}
		}
	}
}

// TestPeerWithdrawn: a name that was given up is asked for again. A peer that is still there goes
// on; one that has ended, as its directory says, is dead.
func TestPeerWithdrawn(t *testing.T) {
	n := newNamedWorld(t, 2)
	exchangeOne(t, n.world, 0, 8)
	withdraw := func(rank uint32) {
		t.Helper()
		a := n.ranks[0].agent
		if err := a.Take(0); err != nil {
			t.Fatal(err)
		}
		a.PeerWithdrawn(rank, n.now)
		a.Leave()
		n.ranks[0].drive(byAgent)
	}
	asked := n.asked
	withdraw(0) // this one
	withdraw(9) // there is none
	if n.asked != asked {
		t.Error("it was asked for a rank that is none of another node")
	}
	withdraw(1)
	if exchangeOne(t, n.world, 1, 8); n.asked == asked {
		t.Error("it was not asked")
	}
	n.answers, n.deaf = link.StatusEnded, true
	withdraw(1)
	a := n.ranks[0].agent
	if err := a.Take(0); err != nil {
		t.Fatal(err)
	}
	defer a.Leave()
	if err := a.Cause(1); err != channels.ErrGone { //nolint:errorlint // the driver returns this very value
		t.Errorf("it ended: %v", err)
	}
}
