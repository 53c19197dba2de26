package pm

import (
	"context"
	"errors"
	"score/channels"
	"score/channels/abi"
	"score/channels/drive"
	"score/channels/link"
	"score/channels/link/ports"
	"score/channels/rankmap"
	"score/flowctl"
	"time"
)

// errRemote means that the rank is on another node. It never leaves the package.
var errRemote = errors.New("pm: the rank is on another node")

const (
	// attendEvery is the number of messages taken from the inbox in a row after which the network
	// is polled, too: what it brings must be acknowledged.
	attendEvery = 32
	// quietAfter is the number of empty polls of the network in a row after which it is polled less
	// often: a poll is a system call, and costs as much as a message inside the node.
	quietAfter = 256
	// quietEvery is the divisor: one of quietEvery polls then reaches the network.
	quietEvery = 8
	// maxPolls is how many times in a row a rank that is alone on its node polls the network: for
	// little more than a microsecond it does nothing else.
	maxPolls = 4
	// lockSpins is how often a rank tries to get the driver lock before it reads the clock: the
	// agent holds it for microseconds. A rank whose gang leaves is stopped in between.
	lockSpins = 64
	// lockTimeout is how long it then tries: longer than an agent's turn and a few of the system
	// scheduler's, so that a program with one message under way does not get ErrFull.
	lockTimeout = 2 * time.Millisecond
	// barredSleep bounds a sleep that begins while the agent holds the lock.
	barredSleep = time.Millisecond
)

// network is a channel's way to other nodes.
type network struct {
	driver  *drive.Driver
	port    ports.Port // the driver's
	where   *rankmap.Map
	bulk    *Bulk // nil: not opened
	watcher *watcher
	alone   bool // no other rank of the job is on this node
	taken   int  // messages since the network was last polled
	empty   int  // polls that found nothing, in a row
	skipped int
	barred  bool // a check for space since the last sleep did not get the driver lock
}

// newNetwork gets the context's socket and the places of the job's ranks.
func newNetwork(c *Channel) (*network, error) {
	socket, file, err := c.process.client.Network(c.img.Channel)
	if err != nil {
		return nil, err
	}
	where, err := rankmap.Open(file)
	if err != nil {
		socket.Close()
		return nil, err
	}
	port, err := ports.Open(socket)
	if err != nil {
		socket.Close()
		return nil, err
	}
	driver, err := drive.New(c.img, link.WithFaults(port, c.process.settings.Faults), where, abi.RoleProcess)
	if err != nil {
		_ = port.Close()
		return nil, err
	}
	w, err := watch(c.img, port.Descriptor())
	if err != nil {
		_ = port.Close()
		return nil, err
	}
	return &network{driver: driver, port: port, where: where, watcher: w, alone: len(c.local) == 1}, nil
}

// close tells the peers, and leaves what is not acknowledged yet to the agent.
func (n *network) close() {
	if n.enter() {
		n.driver.Announce(link.EndClosed)
		n.driver.Leave()
	}
	n.watcher.close()
	if n.bulk != nil {
		_ = n.bulk.port.Close()
	}
	_ = n.driver.Close()
}

// enter takes the driver lock. It is false if the agent has it and keeps it.
func (n *network) enter() bool {
	if n.spinIn() {
		return true
	}
	for start := time.Now(); time.Since(start) < lockTimeout; {
		channels.Nap()
		if n.spinIn() {
			return true
		}
	}
	return false
}

func (n *network) spinIn() bool {
	for range lockSpins {
		if n.driver.Enter() {
			return true
		}
	}
	return false
}

// reserveRemote is GetSendBuffer for a rank on another node.
func (c *Channel) reserveRemote(rank, size int) ([]byte, error) {
	var k channels.Kept
	var buf []byte
	err := c.onNetwork(func(d *drive.Driver) (err error) {
		k, buf, err = d.Reserve(uint32(rank), size)
		return err
	})
	if err != nil {
		return nil, c.refused(err, rank)
	}
	c.outKept, c.outTo, c.outLen = k, rank, size
	return buf, nil
}

// commitRemote is Send for a rank on another node.
func (c *Channel) commitRemote() error {
	if c.outKept == 0 {
		return ErrNoBuffer
	}
	if !c.net.enter() {
		return c.refused(channels.ErrFull, c.outTo)
	}
	err := c.net.driver.Commit(uint32(c.outTo), c.outKept, channels.Nanos())
	c.net.driver.Leave()
	c.outKept = 0
	if err != nil {
		return c.refused(err, c.outTo)
	}
	c.sent(c.outLen)
	return nil
}

// abandonRemote gives a reserved place back. If the agent has the lock just now, the place
// is lost to this channel until it is closed.
func (c *Channel) abandonRemote() {
	if c.net.enter() {
		c.net.driver.Abandon(c.outKept)
		c.net.driver.Leave()
	}
	c.outKept = 0
}

// sendRemote is SendBytes to a rank on another node.
func (c *Channel) sendRemote(rank int, data []byte) error {
	n := c.net
	if !n.enter() {
		return c.refused(channels.ErrFull, rank)
	}
	immediate, now := c.process.settings.Immediate, channels.Nanos()
	err := n.driver.Send(uint32(rank), data, immediate, now)
	if err == channels.ErrFull { //nolint:errorlint // Send returns this very value
		n.driver.Drive(now) // acknowledgements may have come
		err = n.driver.Send(uint32(rank), data, immediate, now)
	}
	n.driver.Leave()
	if err != nil {
		return c.refused(err, rank)
	}
	c.sent(len(data))
	return nil
}

// onNetwork runs f under the driver lock, once more if it found no space.
func (c *Channel) onNetwork(f func(*drive.Driver) error) error {
	if c.net.barred = !c.net.enter(); c.net.barred {
		return channels.ErrFull
	}
	defer c.net.driver.Leave()
	err := f(c.net.driver)
	if err != channels.ErrFull { //nolint:errorlint // drivers return this very value
		return err
	}
	c.net.driver.Drive(channels.Nanos())
	return f(c.net.driver)
}

func (c *Channel) roomRemote(rank int) (int, error) {
	size := c.maxMessage
	for ; size > 0; size /= 2 {
		err := c.onNetwork(func(d *drive.Driver) error { return d.Space(uint32(rank), size) })
		if err == nil {
			return size, nil
		}
		if err != channels.ErrFull { //nolint:errorlint // drivers return this very value
			return 0, c.sendError(err, rank)
		}
	}
	return -1, nil
}

// waitSpaceRemote is WaitSpace for a rank on another node: acknowledgements make space.
func (c *Channel) waitSpaceRemote(ctx context.Context, rank, size int) error {
	if size > c.maxMessage {
		return ErrTooLarge
	}
	var failed error
	check := func() bool {
		err := c.onNetwork(func(d *drive.Driver) error { return d.Space(uint32(rank), size) })
		if err == channels.ErrFull { //nolint:errorlint // drivers return this very value
			return c.pollAll()
		}
		if err != nil {
			failed = c.sendError(err, rank)
		}
		return true
	}
	if err := c.waitSleeping(ctx, abi.WaitSpace, check, func() {}); err != nil {
		return err
	}
	return failed
}

// sleep sleeps until something comes, from this node or another, or until the protocol
// wants to be driven.
func (c *Channel) sleep(timeout time.Duration, check func() bool) {
	if c.net == nil {
		c.img.Sleep(timeout, check)
		return
	}
	c.net.empty = 0 // poll at full rate now
	if due := c.net.dueAfter(channels.Nanos()); due != flowctl.NoDeadline {
		timeout = min(timeout, max(time.Duration(due-channels.Nanos()), 0))
	}
	barred := c.net.barred
	if c.net.barred = false; barred {
		timeout = min(timeout, barredSleep) // space may have come free already, and nobody will wake this rank for it
	}
	c.net.watcher.arm(timeout)
	c.img.Sleep(timeout, func() bool {
		return check() || c.net.watcher.fired() || c.dueBefore(timeout) || c.net.barred && !barred
	})
}

// dueAfter does what is due by now, so that a sleep does not end as soon as it begins, and returns
// when the protocol wants to be driven next.
func (n *network) dueAfter(now int64) int64 {
	if n.driver.Due() <= now && n.driver.Enter() {
		n.driver.Drive(now)
		n.driver.Leave()
	}
	return n.driver.Due()
}

// dueBefore reports whether the check before the sleep has made an earlier instant due.
func (c *Channel) dueBefore(timeout time.Duration) bool {
	due := c.net.driver.Due()
	return due != flowctl.NoDeadline && due-channels.Nanos() < int64(timeout)-int64(time.Millisecond)
}
