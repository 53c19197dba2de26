package node

import (
	"errors"
	"fmt"
	"os"
	"score/channels"
	"score/channels/abi"
	"score/channels/drive"
	"score/channels/link"
	"score/channels/link/ports"
	"score/channels/link/tipc"
	"score/channels/link/udp"
	"score/flowctl"
	"sync/atomic"
	"time"
)

// Context is a context of this node. Fields that are not marked as the loop's do not change.
type Context struct {
	name
	job    *Job
	img    *channels.Image
	socket *os.File     // nil if the job is on this node only; the driver closes it
	at     link.Address // of the socket; with TIPC its name
	bulk   *os.File     // socket for bulk datagrams; nil before the rank asks; under the job's mu
	fd     int
	driver *drive.Driver // the loop's

	spared   chan struct{} // closed when it may be given out, or never will be; nil: it may
	spareErr error         // why not; set before spared is closed

	mode atomic.Uint32 // of watch, for others to see
	// withdrawn: the context's name was given up, since its process died and all that it had sent
	// has arrived.
	withdrawn atomic.Bool
	damaged   atomic.Bool          // nobody of this process touches the image again
	counted   [len(counted)]uint64 // its counters when the job's account was last made; under the job's mu
	answered  atomic.Bool          // when it left its channel, nothing was unanswered or unsent

	watch // the loop's
}

// context finds a context, or makes it with the flow control of whoever asks first.
func (j *Job) context(of name, flow uint32) (*Context, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if c := j.contexts[of]; c != nil && !j.closed {
		return c, nil
	}
	if j.leaving {
		return nil, ErrClosed
	}
	if !j.given(of) {
		return nil, ErrNotGiven
	}
	taken, ok := j.node.shares.take(&j.share, claimFor(of.channel))
	if !ok {
		return nil, ErrResident
	}
	c, err := j.make(of, flow)
	if err != nil {
		j.node.shares.undo(&j.share, taken)
		return nil, err
	}
	j.contexts[of] = c
	j.account.all = append(j.account.all, c)
	j.introduce(c)
	j.spare(c)
	if c.driver != nil {
		j.node.loop.post(func() { j.node.loop.adopt(c) })
		if j.remote == 0 && j.connected != nil {
			j.connected(j)
		}
		j.noteRemote()
	}
	return c, nil
}

// given reports whether the rank may have one more channel; the caller holds the lock. It counts
// per rank, so that the order in which ranks ask does not matter.
func (j *Job) given(of name) bool {
	if j.channels == 0 || of.channel == 0 {
		return true
	}
	has := 0
	for channel := uint32(1); channel < MaxChannels; channel++ {
		if j.contexts[name{channel, of.rank}] != nil {
			has++
		}
	}
	return has < j.channels
}

func (j *Job) make(of name, flow uint32) (*Context, error) {
	me, err := channels.Self()
	if err != nil {
		return nil, err
	}
	id := channels.Identity{Job: j.key, Rank: of.rank, Channel: of.channel}
	img, err := channels.Create(id, j.geometry.WithFlow(flow), j.ranks)
	if err != nil {
		return nil, err
	}
	img.SetOwner(abi.RoleAgent, me)
	c := &Context{name: of, job: j, img: img}
	if j.places == nil {
		return c, nil
	}
	socket, at, err := j.listen(of)
	if err == nil {
		err = c.connect(socket, at)
	}
	if err != nil {
		_ = img.Close()
		return nil, fmt.Errorf("node: the socket of a context: %w", err)
	}
	return c, nil
}

// listen opens the socket of a context.
func (j *Job) listen(of name) (*os.File, link.Address, error) {
	if j.names != nil {
		at := j.names.Context(of.channel, of.rank)
		socket, err := tipc.Listen(at)
		return socket, at, err
	}
	socket, at, err := udp.Listen(j.node.Directory().Addr())
	return socket, link.AddressOf(at), err
}

// answerSoon is how long the agent delays an acknowledgement: a rank that does not drive sends
// nothing that could carry it.
const answerSoon = time.Microsecond

// connect gives the context its socket, which it takes over, and the agent's driver.
func (c *Context) connect(socket *os.File, at link.Address) error {
	n := c.job.node
	port, err := ports.Open(socket)
	if err != nil {
		socket.Close()
		return err
	}
	driver, err := drive.New(c.img, link.WithFaults(port, n.config.Faults), c.job.places, abi.RoleAgent)
	if err != nil {
		_ = port.Close()
		return err
	}
	flow := flowctl.DefaultConfig()
	flow.AckDelay = answerSoon
	driver.Configure(flow)
	c.socket, c.at, c.fd, c.driver = socket, at, port.Descriptor(), driver
	return nil
}

// close frees what no rank holds. The loop has dropped the context before.
func (c *Context) close() error {
	if c.driver != nil {
		_ = c.driver.Close() // closed before if the context was dropped
	}
	var err error
	if c.bulk != nil {
		err = c.bulk.Close()
	}
	return errors.Join(err, c.img.Close())
}

// guard calls f, which uses the image, unless it is damaged. After a fault the context is dropped.
func (c *Context) guard(f func()) {
	if c.damaged.Load() {
		return
	}
	if err := channels.Guard(f); err != nil {
		c.abandon(err)
	}
}

// abandon marks the context as damaged: nobody in this process touches its image again.
func (c *Context) abandon(err error) {
	if !c.damaged.Swap(true) {
		c.job.node.log("context given up", c.job.key, c.rank, err)
	}
}
