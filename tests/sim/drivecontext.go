package sim

import (
	"errors"
	"fmt"
	"time"

	"score/channels"
	"score/channels/abi"
	"score/channels/drive"
	"score/channels/link"
	"score/channels/places"
)

// idleMost is how long a datagram lies in a socket at most, because the process computes and
// the agent has not looked yet: as often as agents do.
const idleMost = int64(2 * time.Millisecond)

// announcements are when, after the death of its process, an agent tells of it.
var announcements = []int64{int64(time.Millisecond), int64(10 * time.Millisecond), int64(100 * time.Millisecond)}

// driveContext is a Context with a real image, that its process and its node's agent
// drive in turns, through one socket.
type driveContext struct {
	Spec
	*boxes
	d       *DriveSpec
	dice    rng
	img     *channels.Image
	in      *channels.Inbox
	where   *places.Map
	process *drive.Driver
	agent   *drive.Driver
	ledger  ledger

	addresses, directories []link.Address // by rank

	byAgent bool // the agent drives now: the process computes
	stays   int  // permille of the sections after which the other drives
	prompt  int  // permille of the datagrams that are taken at once
	lateAt  int64
	absent  bool // the process stands still: only the agent drives
	flush   bool
	flushed bool // the driver's word

	head    channels.Message // of which the tail is awaited
	hasHead bool
	idle    bool // the process found nothing, and nothing came since
	voids   uint64
	lost    []bool
	ended   int // announcements made, + 1; 0: its process lives
	endedAt int64
	fault   error

	before func(role uint32) // of tests: called before each section
}

// NewDriveContext makes a context of package drive.
func NewDriveContext(spec Spec) Context {
	c := &driveContext{Spec: spec, d: spec.Drive, dice: rng{state: spec.Drive.Seed}, boxes: spareBoxes.Get().(*boxes)}
	c.lost = make([]bool, spec.Ranks)
	c.stays = pick(&c.dice, 20, 200, 1000)
	c.prompt = pick(&c.dice, 1000, 900, 500)
	if err := c.make(); err != nil {
		panic(fmt.Sprintf("sim: %v", err)) // no memory for a few pages
	}
	return c
}

func (c *driveContext) make() (err error) {
	g := abi.Geometry{
		Ranks: uint32(c.Ranks), LocalRanks: 1, Lanes: 1, MaxMessage: uint32(c.d.Longest),
		LaneBytes: uint32(c.d.Lane), SharedBytes: uint32(c.d.Lane), SendBytes: uint32(c.d.Send),
	}
	rank := uint32(c.Rank)
	id := channels.Identity{Job: jobKey(c.Job), Rank: rank, Channel: uint32(c.Channel)}
	if c.img, err = channels.Create(id, g, []uint32{rank}); err != nil {
		return err
	}
	me, err := channels.Self()
	if err != nil {
		return err
	}
	c.img.SetOwner(abi.RoleProcess, me)
	c.img.SetOwner(abi.RoleAgent, me)
	if err := c.place(); err != nil {
		return err
	}
	if err := c.ledger.open(c); err != nil {
		return err
	}
	if c.in, err = c.img.Inbox(nil); err != nil {
		return err
	}
	c.in.SetOverlap(c.dice.chance(500))
	c.process = c.driver(abi.RoleProcess, c.d.Size)
	c.agent = c.driver(abi.RoleAgent, c.d.Size)
	return nil
}

// place makes the map of the job: each rank is alone on a node of its own, though several of
// them may be at one address.
func (c *driveContext) place() (err error) {
	nodeOf := make([]uint32, c.Ranks)
	for rank, node := range c.d.Nodes {
		nodeOf[rank] = uint32(rank)
		c.addresses = append(c.addresses, contextAddress(node, c.d.Base+rank))
		c.directories = append(c.directories, directoryAddress(node))
	}
	c.where, err = places.New(uint32(c.Rank), c.directories, nodeOf)
	return err
}

// driver makes a driver that knows nothing yet.
func (c *driveContext) driver(role uint32, size int) *drive.Driver {
	d, err := drive.New(c.img, &drivePort{c: c, size: size}, c.where, role)
	if err != nil {
		panic(fmt.Sprintf("sim: %v", err)) // map and image are of the same job
	}
	d.Configure(*c.Flow)
	return d
}

// Restart lets the agent be another one, that may know of other paths; more rarely the
// process's driver.
func (c *driveContext) Restart(int64) {
	if c.dice.chance(250) {
		c.process = c.driver(abi.RoleProcess, c.d.Size)
		return
	}
	c.agent = c.driver(abi.RoleAgent, pick(&c.dice, c.d.Size, c.d.Size, link.MinDatagram, 4000))
}

// asProcess and asAgent run a section of a driver.
func (c *driveContext) asProcess(section func(*drive.Driver)) {
	if c.before != nil {
		c.before(abi.RoleProcess)
	}
	if !c.process.Enter() {
		c.fail(errors.New("nobody drives, and the process cannot enter"))
		return
	}
	section(c.process)
	c.process.Leave()
	c.after(c.process)
}

func (c *driveContext) asAgent(section func(*drive.Driver)) {
	if c.before != nil {
		c.before(abi.RoleAgent)
	}
	if err := c.agent.Take(0); err != nil {
		c.fail(err)
		return
	}
	section(c.agent)
	c.flushed = c.flush && c.agent.Flushed()
	c.agent.Leave()
	c.after(c.agent)
}

func (c *driveContext) after(d *drive.Driver) {
	c.idle = false
	if err := d.Damage(); err != nil {
		c.fail(err)
	}
}

func (c *driveContext) fail(err error) {
	if c.fault == nil {
		c.fault = err
	}
}

// drive lets whose turn it is drive.
func (c *driveContext) drive(now int64) {
	section := func(d *drive.Driver) { d.Drive(now) }
	if c.dice.chance(c.stays) {
		c.byAgent = !c.byAgent
	}
	if c.byAgent || c.absent {
		c.asAgent(section)
	} else {
		c.asProcess(section)
	}
	c.lateAt = now + c.dice.span(1, idleMost) // if something is left
}

func (c *driveContext) Input(now int64, from link.Address, frame []byte) {
	if len(c.socket.list)-c.taken >= socketCap {
		return
	}
	if len(c.socket.list) == 0 {
		c.lateAt = now + c.dice.span(1, idleMost)
	}
	c.socket.add(from, link.Address{}, frame)
}

func (c *driveContext) Output(now int64, net Network) {
	if len(c.socket.list) > 0 && (c.absent || now >= c.lateAt || c.dice.chance(c.prompt)) {
		c.drive(now)
	}
	for i := range c.out.list {
		d := &c.out.list[i]
		data := c.out.data(d)
		for rank := range c.Ranks {
			if d.to == c.addresses[rank] {
				kind := link.Kind(data[kindAt])
				net.Transmit(rank, data, kind == link.Data || kind == link.Ask)
				break
			}
			if d.to == c.directories[rank] {
				net.Lookup(rank, data)
				break
			}
		}
	}
	c.out.clear()
}

func (c *driveContext) Deadline() int64 {
	at := c.img.Due()
	if len(c.socket.list) > 0 {
		at = min(at, c.lateAt)
	}
	if c.ended > 0 && c.ended <= len(announcements) {
		at = min(at, c.endedAt+announcements[c.ended-1])
	}
	return at
}

func (c *driveContext) Tick(now int64) {
	c.drive(now)
	if c.ended > 0 && c.ended <= len(announcements) && now >= c.endedAt+announcements[c.ended-1] {
		c.ended++
		c.asAgent(func(d *drive.Driver) { d.Announce(link.EndDied) })
	}
}

func (c *driveContext) Flush(now int64) {
	c.absent, c.flush = true, true
	c.asAgent(func(d *drive.Driver) { d.Flush(now) })
}

func (c *driveContext) Flushed(to uint16) bool {
	if c.flush {
		return c.flushed
	}
	return c.ledger.peers[to].flushed()
}

func (c *driveContext) Suspend(now int64) {
	c.flush = false
	c.asAgent(func(d *drive.Driver) { d.Suspend(now) })
}

func (c *driveContext) Resume(now int64) {
	c.absent, c.flush = c.ended > 0, false
	c.asAgent(func(d *drive.Driver) { d.Resume(now) })
}

func (c *driveContext) Told(now int64, rank uint16) bool {
	c.asAgent(func(d *drive.Driver) { d.PeerEnded(uint32(rank), link.EndDied) })
	return true
}

func (c *driveContext) End(now int64) bool {
	c.absent, c.ended, c.endedAt = true, 1, now
	c.img.SetState(abi.StateGone)
	return true
}

func (c *driveContext) Lost(to uint16) bool {
	for {
		rank, ok := c.process.Gone()
		if !ok {
			return c.lost[to]
		}
		c.lost[rank] = true
	}
}

func (c *driveContext) Settled(to uint16) bool { return c.ledger.peers[to].settled() }

func (c *driveContext) Usage() Usage {
	u := c.ledger.usage()
	u.Ready = u.Inbox > 0 && !c.idle
	u.Fault = c.fault
	if u.Fault == nil {
		u.Fault = c.in.Damage()
	}
	return u
}

// Check says whether all of the send buffer is free again, and nobody wants to be driven for ever.
func (c *driveContext) Check() error {
	buf := c.img.SendBuffer()
	free := 0
	for {
		if _, _, err := buf.Reserve(0); err != nil {
			break
		}
		free++
	}
	if free != c.SendCap {
		return fmt.Errorf("%d granules of %d are free when all is acknowledged", free, c.SendCap)
	}
	return nil
}

func (c *driveContext) Close() {
	c.socket.clear()
	c.out.clear()
	c.taken = 0
	spareBoxes.Put(c.boxes)
	_ = c.img.Close()
}
