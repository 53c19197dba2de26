package sim

import (
	"fmt"
	"score/channels"
	"score/channels/abi"
	"score/channels/drive"
	"score/channels/link"
	"score/channels/rankmap"
)

// NewDriveContext makes a context of package drive.
func NewDriveContext(spec Spec) Context { return newDriveContext(spec) }

func newDriveContext(spec Spec) *driveContext {
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
	if c.d.Credits {
		g.Flow = abi.FlowCredits
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
	c.where, err = rankmap.New(uint32(c.Rank), c.directories, nodeOf)
	return err
}

// driver makes a driver that knows nothing yet.
func (c *driveContext) driver(role uint32, size int) *drive.Driver {
	d, err := drive.New(c.img, &drivePort{c: c, size: size, role: role}, c.where, role)
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
