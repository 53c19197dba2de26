package messages

import (
	"errors"
	"fmt"
	"runtime"
	"score/channels"
	"score/channels/abi"
	"score/pm"
	"sync/atomic"
	"time"
)

// Combination is how the messages of a rank's peers reach it on a node: by an exclusive lane for
// each pair (ER in the GLEX papers), by the ring that all share (SR), or by lanes for those that
// talk as long as their memory lasts, and the ring for the others.
type Combination string

// The combinations.
const (
	Exclusive Combination = "exclusive"
	Shared    Combination = "shared"
	Combined  Combination = "combined"
)

// Combinations are all of them.
var Combinations = []Combination{Exclusive, Shared, Combined}

const (
	// hotPeers send most of the messages: neighbours in a stencil, parents and children in a tree.
	hotPeers = 8
	// coldEvery is how rare messages of the others are.
	coldEvery = 10
)

// ErrPeers means that a context cannot have a lane for each peer.
var ErrPeers = fmt.Errorf("a context has at most %d lanes", abi.MaxLanes-1)

// CombinationPoint is what was measured with a number of peers.
type CombinationPoint struct {
	OneWay  float64 // ns, of a message of 8 B, until its sender knows that it was taken
	PerPeer float64 // bytes of the receiver's context for each peer, on this node or another
}

// MeasureCombination has peers, in one thread, send count messages to a rank in another thread; the
// first half warms up. The error is ErrPeers.
func MeasureCombination(how Combination, peers, count int) (p CombinationPoint, err error) {
	c, err := newCombination(how, peers)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	took, err := c.run(count)
	if err != nil {
		return p, err
	}
	f, err := touched(c.img, 0)
	return CombinationPoint{float64(took.Nanoseconds()) / float64(count/2), f.image / float64(peers)}, err
}

type combination struct {
	img     *channels.Image
	in      *channels.Inbox
	senders []*channels.Sender
	asked   chan uint32   // lanes that the receiver wants back
	taken   atomic.Uint64 // messages
	stop    atomic.Bool
	ended   chan error
	oneCPU  bool // for both ends
}

func newCombination(how Combination, peers int) (*combination, error) {
	// What a node does not hold is on other nodes: table entries of peers that send nothing here.
	here := min(peers, abi.MaxLocal)
	geometry := abi.Geometry{Ranks: uint32(peers), LocalRanks: uint32(here)}
	memory := channels.NewLaneMemory(pm.DefaultLaneBytes)
	switch how {
	case Exclusive:
		if peers >= abi.MaxLanes {
			return nil, ErrPeers
		}
		geometry.Lanes, memory = uint32(peers)+1, nil
	case Shared:
		memory = channels.NewLaneMemory(0)
	case Combined:
	}
	local := make([]uint32, here)
	for i := range local {
		local[i] = uint32(i)
	}
	img, err := channels.Create(channels.Identity{Job: 1, Channel: 1}, geometry, local)
	if err != nil {
		return nil, err
	}
	c := &combination{
		img:    img,
		asked:  make(chan uint32, abi.MaxLanes),
		ended:  make(chan error, 1),
		oneCPU: runtime.GOMAXPROCS(0) == 1,
	}
	me, err := channels.Self()
	if err != nil {
		return nil, errors.Join(err, img.Close())
	}
	img.SetOwner(abi.RoleProcess, me)
	c.in, err = img.InboxWithin(memory, nil, c.ask)
	for rank := 0; rank < here && err == nil; rank++ {
		var s *channels.Sender
		s, err = img.Sender(uint32(rank))
		c.senders = append(c.senders, s)
	}
	if err != nil {
		return nil, errors.Join(err, img.Close())
	}
	return c, nil
}

// ask passes on that a lane is wanted back. The inbox asks again if it was not heard.
func (c *combination) ask(rank uint32) {
	select {
	case c.asked <- rank:
	default:
	}
}

func (c *combination) close() error {
	c.in.Close()
	return c.img.Close()
}

// run returns how long the second half of the messages took.
func (c *combination) run(count int) (time.Duration, error) {
	go c.receive()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var start time.Time
	var err error
	for i := 0; i < count && err == nil; i++ {
		if i == count/2 {
			start = time.Now()
		}
		err = c.send(uint64(i), c.peer(i))
	}
	took := time.Since(start)
	c.stop.Store(true)
	return took, errors.Join(err, <-c.ended)
}

// peer is the sender of a message.
func (c *combination) peer(i int) uint32 {
	if i%coldEvery == 0 {
		return uint32(i / coldEvery % len(c.senders))
	}
	return uint32(i % min(hotPeers, len(c.senders)))
}

// send sends a message and waits until it was taken.
func (c *combination) send(i uint64, from uint32) error {
	select {
	case rank := <-c.asked:
		c.senders[rank].GiveBack()
	default:
	}
	var word [8]byte
	if err := c.senders[from].Send(word[:]); err != nil {
		return err
	}
	for c.taken.Load() <= i {
		if len(c.ended) > 0 {
			return nil // its error is the receiver's
		}
		c.pause()
	}
	return nil
}

// pause lets the other end run where it cannot at the same time.
func (c *combination) pause() {
	if c.oneCPU {
		runtime.Gosched()
	}
}

func (c *combination) receive() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for !c.stop.Load() {
		m, ok := c.in.Poll()
		if !ok {
			c.pause()
			continue
		}
		if err := c.in.Release(m); err != nil {
			c.ended <- err
			return
		}
		c.taken.Add(1)
	}
	c.ended <- c.in.Damage()
}
