package drive

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"score/channels"
	"score/channels/abi"
	"score/channels/link"
	"score/channels/rankmap"
	"testing"
)

// world is a job of one rank per node on a network in memory, with a clock of its own.
type world struct {
	t      *testing.T
	now    int64
	rng    *rand.Rand
	ranks  []*rank
	fate   func(d datagram) []datagram // what becomes of a datagram; nil: it arrives
	step   func()                      // happens between two steps
	checks int                         // steps so far, for checkSometimes
	lazy   int                         // one of lazy+1 looks into the inbox takes a message
	dirs   []link.Address
}

type datagram struct {
	from, to link.Address
	data     []byte
}

// rank is a context with the process's side and, on demand, the agent's.
type rank struct {
	w       *world
	number  uint32
	address link.Address
	img     *channels.Image
	in      *channels.Inbox
	queue   []datagram // received by the socket
	process *Driver
	agent   *Driver
}

// port is one end's use of a rank's socket.
type port struct {
	r   *rank
	buf [link.MaxDatagram]byte
}

const testKey = 77

func address(node int, port uint16) link.Address {
	return link.AddressOf(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, byte(node + 1)}), port))
}

func newWorld(t *testing.T, ranks int, g abi.Geometry) *world {
	t.Helper()
	w := &world{t: t, now: 1, rng: rand.New(rand.NewPCG(1, 2)), step: func() {}}
	g.Ranks, g.LocalRanks = uint32(ranks), 1
	nodeOf := make([]uint32, ranks)
	for i := range ranks {
		w.dirs = append(w.dirs, address(i, 1))
		nodeOf[i] = uint32(i)
	}
	for i := range ranks {
		where, err := rankmap.New(uint32(i), w.dirs, nodeOf)
		if err != nil {
			t.Fatal(err)
		}
		w.ranks = append(w.ranks, w.newRank(i, g, where))
	}
	return w
}

func (w *world) newRank(i int, g abi.Geometry, where *rankmap.Map) *rank {
	img, err := channels.Create(channels.Identity{Job: testKey, Rank: uint32(i), Channel: 1}, g, []uint32{uint32(i)})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = img.Close() })
	me, err := channels.Self()
	if err != nil {
		w.t.Fatal(err)
	}
	img.SetOwner(abi.RoleProcess, me)
	img.SetOwner(abi.RoleAgent, me)
	r := &rank{w: w, number: uint32(i), address: address(i, 100+uint16(i)), img: img}
	if r.in, err = img.Inbox(nil); err != nil {
		w.t.Fatal(err)
	}
	if r.process, err = New(img, &port{r: r}, where, abi.RoleProcess); err != nil {
		w.t.Fatal(err)
	}
	if r.agent, err = New(img, &port{r: r}, where, abi.RoleAgent); err != nil {
		w.t.Fatal(err)
	}
	return r
}

// close frees the images before the test ends.
func (w *world) close() {
	for _, r := range w.ranks {
		_ = r.img.Close()
	}
}

func (p *port) Local() link.Address   { return p.r.address }
func (p *port) Size(link.Address) int { return 1472 }
func (p *port) Buffer() []byte        { return p.buf[:] }
func (p *port) Flush()                {}
func (p *port) Stats() link.Stats     { return link.Stats{} }
func (p *port) Close() error          { return nil }

func (p *port) Queue(to link.Address, n int) {
	if n == 0 {
		return
	}
	p.r.w.transmit(datagram{p.r.address, to, append([]byte(nil), p.buf[:n]...)})
}

func (p *port) Receive(handle func(link.Address, []byte)) int {
	q := p.r.queue
	p.r.queue = nil
	for _, d := range q {
		handle(d.from, d.data)
	}
	return len(q)
}

// transmit lets a datagram meet its fate, and the directories answer.
func (w *world) transmit(d datagram) {
	arriving := []datagram{d}
	if w.fate != nil {
		arriving = w.fate(d)
	}
	for _, d := range arriving {
		w.arrive(d)
	}
}

func (w *world) arrive(d datagram) {
	for i, r := range w.ranks {
		if d.to == r.address {
			r.queue = append(r.queue, d)
		}
		if d.to == w.dirs[i] {
			w.answerWhere(i, d)
		}
	}
}

func (w *world) answerWhere(node int, d datagram) {
	h, _, err := link.Parse(d.data)
	if err != nil || h.Kind != link.Where || h.Job != testKey {
		return
	}
	var lw link.Writer
	buf := make([]byte, link.MinDatagram)
	answer := link.Head{
		Kind: link.Here, Job: h.Job, Channel: h.Channel, From: h.To, To: h.From,
		Status: link.StatusHere, Port: w.ranks[node].address.AddrPort().Port(),
	}
	lw.Begin(buf, len(buf), &answer)
	w.transmit(datagram{w.dirs[node], d.from, buf[:lw.Finish(0)]})
}

// who drives.
type who bool

const (
	byProcess who = false
	byAgent   who = true
)

// drive lets the process, or the agent, drive once.
func (r *rank) drive(by who) {
	r.w.t.Helper()
	if by == byAgent {
		if err := r.agent.Take(0); err != nil {
			r.w.t.Fatal(err)
		}
		r.agent.Drive(r.w.now)
		r.agent.Leave()
		return
	}
	if !r.process.Enter() {
		r.w.t.Fatal("the lock is held")
	}
	r.process.Drive(r.w.now)
	r.process.Leave()
}

// send sends by the process; false if there is no space.
func (r *rank) send(to int, data []byte) bool {
	r.w.t.Helper()
	if !r.process.Enter() {
		r.w.t.Fatal("the lock is held")
	}
	defer r.process.Leave()
	err := r.process.Send(uint32(to), data, r.w.rng.IntN(2) == 0, r.w.now)
	if err != nil && !errors.Is(err, channels.ErrFull) {
		r.w.t.Fatal(err)
	}
	return err == nil
}

// message is content that says whose it is.
func message(from, to, index, length int) []byte {
	b := fmt.Appendf(nil, "%d>%d #%d ", from, to, index)
	for i := len(b); i < length; i++ {
		b = append(b, byte(i*7+index))
	}
	return b
}

func parse(t *testing.T, data []byte) (link.Head, link.Frames) {
	t.Helper()
	h, frames, err := link.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return h, frames
}

// exchangeOne sends a message from rank 0 to rank 1 and waits for it.
func exchangeOne(t *testing.T, w *world, index, length int) {
	t.Helper()
	if !w.ranks[0].send(1, message(0, 1, index, length)) {
		t.Fatal("no space")
	}
	finish(t, w, index, length)
}

// finish waits for a message, and sees that no other comes.
func finish(t *testing.T, w *world, index, length int) {
	t.Helper()
	settle(t, w)
	in := w.ranks[1].in
	m, ok := in.Poll()
	for tries := 0; !ok && tries < 100; tries++ {
		m, ok = in.Poll() // pads are passed one by one
	}
	if want := message(0, 1, index, length); !ok || string(m.Head()) != string(want) {
		t.Fatalf("message %d: got %v, %.20q", index, ok, m.Head())
	}
	if err := in.Release(m); err != nil {
		t.Fatal(err)
	}
	if m, ok := in.Poll(); ok {
		t.Fatalf("once more: %.20q", m.Head())
	}
}
