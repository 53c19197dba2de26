package sim

import (
	"errors"
	"fmt"
	"score/channels"
	"score/channels/abi"
	"score/channels/drive"
	"score/channels/link"
	"score/channels/rankmap"
	"time"
)

// maxIdle is how long a datagram lies in a socket at most, because the process computes and
// the agent has not looked yet: as often as agents do.
const maxIdle = int64(2 * time.Millisecond)

// announcements are the times, after the death of its process, at which an agent announces it.
var announcements = []int64{int64(time.Millisecond), int64(10 * time.Millisecond), int64(100 * time.Millisecond)}

// driveContext is a Context with a real image, which its process and its node's agent drive in
// turns, through one socket.
type driveContext struct {
	Spec
	*boxes
	d       *DriveSpec
	dice    rng
	img     *channels.Image
	in      *channels.Inbox
	where   *rankmap.Map
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

	head    channels.Message // its tail is awaited
	hasHead bool
	idle    bool // the process found nothing, and nothing came since
	voids   uint64
	lost    []bool
	ended   int // announcements made, + 1; 0: its process lives
	endedAt int64
	how     uint8 // its process ended
	fault   error

	before func(role uint32) // of tests: called before each section
	shared *sharedContext    // its node has an agent that switches; else nil
}

// asProcess and asAgent run a section of a driver.
func (c *driveContext) asProcess(section func(*drive.Driver)) {
	if c.shared != nil {
		c.shared.asProcess(section)
		return
	}
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
	if c.shared != nil {
		c.shared.asAgent(section)
		return
	}
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

// drive lets the driver drive whose turn it is.
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
	c.lateAt = now + c.dice.span(1, maxIdle) // if something is left
}

func (c *driveContext) Input(now int64, from link.Address, frame []byte) {
	if len(c.socket.list)-c.taken >= socketCap {
		return
	}
	if len(c.socket.list) == 0 {
		c.lateAt = now + c.dice.span(1, maxIdle)
	}
	c.socket.add(from, link.Address{}, frame)
}

func (c *driveContext) Output(now int64, net Network) {
	if len(c.socket.list) > 0 && (c.absent || now >= c.lateAt || c.dice.chance(c.prompt)) {
		c.drive(now)
	}
	c.emit(net)
}

// emit passes to the network what the drivers sent.
func (c *driveContext) emit(net Network) {
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
		c.asAgent(func(d *drive.Driver) { d.Announce(c.how) })
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
	c.asAgent(func(d *drive.Driver) { d.Suspend(now); d.Follow() })
}

func (c *driveContext) Resume(now int64) {
	c.absent, c.flush = c.ended > 0, false
	c.asAgent(func(d *drive.Driver) { d.Resume(now); d.Follow() })
}

func (c *driveContext) PeerDied(now int64, rank uint16) bool {
	c.asAgent(func(d *drive.Driver) { d.PeerEnded(uint32(rank), link.EndDied) })
	return true
}

func (c *driveContext) End(now int64) bool {
	c.finish(now, abi.StateGone, link.EndDied)
	return true
}

// Leave does what a process does that closes its end.
func (c *driveContext) Leave(now int64) {
	c.asProcess(func(d *drive.Driver) { d.Announce(link.EndClosed) })
	c.finish(now, abi.StateClosed, link.EndClosed)
}

func (c *driveContext) finish(now int64, state uint32, how uint8) {
	c.absent, c.ended, c.endedAt, c.how = true, 1, now, how
	c.img.SetState(state)
}

func (c *driveContext) Lost(to uint16) bool {
	for {
		rank, ok := c.process.Gone()
		if !ok {
			return c.lost[to] || c.ledger.peers[to].closed()
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

// Check checks that all of the send buffer is free again.
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
