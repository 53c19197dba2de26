package drive

import (
	"fmt"
	"score/channels"
	"score/channels/abi"
	"score/channels/link"
	"score/channels/rankmap"
	"score/flowctl"
	"time"
)

const (
	// maxReceives bounds the receiving calls of one Drive, so that a flood leaves the process time
	// for its own work.
	maxReceives = 4
	// maxFrames bounds the frames of one call of flowctl.Sender.Send: as many small ones as one
	// datagram of an Ethernet carries.
	maxFrames = 128
	// clockEvery is how many empty polls share one reading of the clock: together they take less
	// than the shortest of the protocol's times.
	clockEvery = 16
	// maxSends bounds the calls for one peer in a row: far above what the largest window needs.
	maxSends = 64
)

// Driver drives one context. One goroutine uses it at a time, and all but New,
// Due and Close between Enter or Take and Leave.
type Driver struct {
	img   *channels.Image
	role  uint32
	port  link.Port
	held  link.Holder    // the port if it sends some datagrams later, else nil
	conn  link.Connecter // the port if it has a socket for a peer, else nil
	lends link.Borrower  // the port if it sends from other memory, too, else nil
	// guarded: the transport guards the bytes of datagrams that go in one piece.
	guarded bool
	where   *rankmap.Map
	names   *link.Names // of a job whose ranks are found by name, else nil
	flow    flowctl.Config
	buf     *channels.SendBuffer
	peers   []*peer // by rank, nil until needed

	flowNumber uint8    // link.FlowNack or link.FlowCredits
	credit     *credits // nil: ACK/NACK

	now        int64
	clocked    bool  // now is this section's
	emptyPolls uint8 // calls of Poll in a row that found nothing
	due        int64 // no deadline is earlier
	sure       bool  // due, and what is remembered of the image, were set by this driver
	in         channels.Delivery
	inReady    bool
	touched    []*peer // peers that may have something to send, or have something to free
	refusing   int     // peers that wait for Ready
	talking    int     // peers that sent frames lately; they share the room
	counted    int64   // when talking was last counted again
	receive    func(link.Address, []byte)
	writer     link.Writer
	seenGone   uint32 // Status.Gone as last seen
	mended     bool   // the agent before was killed in its section, perhaps between two steps of a switch
	frames     uint64 // sent, also again
	freed      bool   // this section made space in the send buffer, or ended a peer
	damage     error
}

// New joins an image and a port, which is the driver's from now on. role is
// abi.RoleProcess or abi.RoleAgent.
func New(img *channels.Image, port link.Port, where *rankmap.Map, role uint32) (*Driver, error) {
	if int(where.Ranks()) != int(img.Geometry().Ranks) {
		return nil, fmt.Errorf("%w: a map of %d ranks for a job of %d", channels.ErrDamaged, where.Ranks(), img.Geometry().Ranks)
	}
	d := &Driver{
		img: img, role: role, port: port, where: where,
		flow: flowctl.DefaultConfig(), buf: img.SendBuffer(),
		peers: make([]*peer, img.Geometry().Ranks), due: flowctl.NoDeadline,
	}
	if where.Named() {
		names := where.Names()
		d.names = &names
	}
	d.useFlow()
	d.receive = d.input
	d.held, _ = port.(link.Holder)
	d.lends, _ = port.(link.Borrower)
	if g, ok := port.(link.Guarded); ok {
		d.guarded = g.Guarded()
	}
	// The agent drives in turns with the process. If the agent had a connected socket of its own,
	// too, long streams beside busy processors stood still for a minute.
	if role == abi.RoleProcess {
		d.conn, _ = port.(link.Connecter)
	}
	return d, nil
}

// Configure replaces the numbers of the protocol, which must be valid and the same on
// both sides of the channel. It is called before the first section. The policy stays the one that
// the image was made for.
func (d *Driver) Configure(c flowctl.Config) {
	c.Policy = d.flow.Policy
	d.flow = c
}

// Enter takes the driver lock for the process, without waiting. It is false if
// the agent has the lock or wants it.
func (d *Driver) Enter() bool {
	if d.img.Enter() != nil {
		return false
	}
	d.begin()
	return true
}

// Take takes the driver lock for the agent. Errors are those of Image.Take.
func (d *Driver) Take(timeout time.Duration) error {
	taken, err := d.img.Take(timeout)
	if err != nil {
		return err
	}
	d.begin()
	if taken == channels.TakenBroken {
		d.repair()
	}
	return nil
}

// Leave ends the section.
func (d *Driver) Leave() {
	if due := d.Due(); d.img.Due() != due {
		d.img.SetDue(due)
	}
	if d.role == abi.RoleAgent {
		d.img.AllowDriving()
		d.notifySpace()
		return
	}
	d.img.Leave()
}

// notifySpace wakes a process that waits for space, which checks for it under the lock. The
// datagram that brought the space woke it, too, but may have been taken before the process reads.
func (d *Driver) notifySpace() {
	if d.freed {
		d.freed = false
		d.img.Wake()
	}
}

// begin checks whether what the driver remembers still holds.
func (d *Driver) begin() {
	if !d.img.Follow(d.role) && d.sure {
		return
	}
	d.sure, d.inReady = true, false
	d.due, d.refusing = d.now, 0 // a tick visits all active peers
	d.followCredits()
	for _, p := range d.peers {
		if p != nil {
			p.forget()
		}
	}
}

// Due returns when Drive must be called even if nothing comes, by channels.Nanos.
func (d *Driver) Due() int64 {
	if d.held == nil {
		return d.due
	}
	return d.heldDue()
}

// heldDue is Due for a driver whose port holds datagrams. Nothing is due for a context that is not
// resident.
func (d *Driver) heldDue() int64 {
	wait, holds := d.held.Wait()
	if !holds || d.img.Away() {
		return d.due
	}
	return min(d.due, channels.Nanos()+int64(wait))
}

// Port is the driver's port, for its statistics.
func (d *Driver) Port() link.Port { return d.port }

// Frames returns how many frames this driver has sent.
func (d *Driver) Frames() uint64 { return d.frames }

// Damage is not nil once the image said impossible things; the context cannot be
// driven any more.
func (d *Driver) Damage() error { return d.damage }

// Close closes the port.
func (d *Driver) Close() error { return d.port.Close() }

// Drive takes what has come, does what is due and sends what may be sent. It
// reports whether something came.
func (d *Driver) Drive(now int64) (progress bool) {
	d.now, d.clocked = now, true
	progress = d.take()
	d.act()
	return progress
}

// clock reads the clock, once in a section.
func (d *Driver) clock() {
	if !d.clocked {
		d.now, d.clocked = channels.Nanos(), true
	}
}

// take takes what has come.
func (d *Driver) take() (progress bool) {
	for range maxReceives {
		n := d.port.Receive(d.receive)
		progress = progress || n > 0
		if n < 2 {
			break // a single datagram: handling it is worth more than another call that finds nothing
		}
	}
	return progress
}

// act does what is due, and sends what may be sent.
func (d *Driver) act() {
	if d.refusing > 0 {
		d.offerRoom()
	}
	if d.now >= d.due {
		d.tick()
	}
	if len(d.touched) > 0 {
		d.sendTouched()
	}
}

// touch notes that a peer may have something to send.
func (d *Driver) touch(p *peer) {
	if !p.touched {
		p.touched = true
		d.touched = append(d.touched, p)
	}
}

func (d *Driver) sendTouched() {
	for _, p := range d.touched {
		p.touched = false
		if p.acked {
			d.free(p)
		}
		d.send(p)
	}
	d.touched = d.touched[:0]
	d.port.Flush()
}

// tick does what is due, at all peers that have something pending.
func (d *Driver) tick() {
	d.due = flowctl.NoDeadline
	d.repairFollow()
	for rank := range d.img.Active() {
		p := d.peer(rank)
		if p == nil {
			d.img.SetActive(rank, false)
			continue
		}
		if p.send.Tick(&d.flow, d.now) {
			d.lose(p)
		}
		p.recv.Tick(&d.flow, d.now)
		d.touch(p)
		d.schedule(p)
	}
}

// schedule records when a peer must be visited next, and whether it waits for room.
func (d *Driver) schedule(p *peer) {
	next := min(p.send.Deadline(), p.recv.Deadline(), p.lookup.at)
	waits := p.recv.Waits(&d.flow)
	if d.img.Away() {
		d.img.SetActive(p.rank, true) // so that Resume visits it
		return
	}
	if waits != p.waits {
		p.waits = waits
		if waits {
			d.refusing++
		} else {
			d.refusing--
		}
	}
	d.due = min(d.due, next)
	// With p.acked, too: an agent killed before it frees that leaves it to the next (repair).
	pending := p.acked || p.unsettled() || p.unflushed() || p.recv.Due() || p.unreported()
	d.img.SetActive(p.rank, next != flowctl.NoDeadline || waits || pending)
}

// Settled reports whether nothing is kept for other nodes, and no answer is due.
func (d *Driver) Settled() bool {
	for rank := range d.img.Active() {
		if p := d.peer(rank); p != nil && (p.unsettled() || p.recv.Due()) {
			return false
		}
	}
	return true
}
