package ofi

import (
	"context"
	"score/pm"
	"score/pm/mem"
	"score/pm/tag"
	"score/pm/uct"
	"sync"
	"sync/atomic"
)

// Domain is this rank's part of the network: its channel, its memory, its progress.
type Domain struct {
	mu     sync.Mutex
	asleep atomic.Pointer[context.CancelFunc] // ends the sleep of who waits with the lock
	worker *uct.Worker
	iface  *uct.Iface
	md     *uct.MD
	stack  *tag.Stack
	eps    [tag.Ports]*Endpoint
	cqs    []*CQ
	spare  *transfer
}

// Open makes a domain of an open channel, which nobody else may use from then on.
func Open(ch *pm.Channel) *Domain {
	_ = mem.Allow() // without it long messages are copied twice
	d := &Domain{worker: uct.NewWorker(), md: uct.NewMD(0)}
	d.iface = d.worker.Open(ch, d.md)
	d.stack = tag.NewStack(d.iface, d.md, tag.Settings{})
	d.iface.HandleData(d.onRemoteData)
	return d
}

// Lock keeps other goroutines out of the domain and its objects until Unlock. One that waits in
// Wait returns early.
func (d *Domain) Lock() {
	if d.mu.TryLock() {
		return
	}
	if wake := d.asleep.Load(); wake != nil {
		(*wake)()
	}
	d.mu.Lock()
}

// Unlock ends what Lock began.
func (d *Domain) Unlock() { d.mu.Unlock() }

// Rank returns this rank's number, and how many there are.
func (d *Domain) Rank() (rank, ranks int) {
	a := d.iface.Attr()
	return a.Rank, a.Ranks
}

// Progress handles what has come and sends what was waiting; it returns how much that was.
func (d *Domain) Progress() int {
	n := d.worker.Progress()
	for _, c := range d.cqs {
		c.refill()
	}
	return n
}

// Wait waits until Progress may have something to do, or another goroutine wants the lock. The error
// is a context's.
func (d *Domain) Wait(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d.asleep.Store(&cancel)
	defer d.asleep.Store(nil)
	return d.worker.Wait(ctx)
}

// Close closes endpoints, channel and memory.
func (d *Domain) Close() error {
	for _, ep := range d.eps {
		if ep != nil {
			_ = ep.Close()
		}
	}
	err := d.worker.Close()
	_ = d.md.Close()
	return err
}

// CloseCQ forgets a queue.
func (d *Domain) CloseCQ(c *CQ) {
	for i, have := range d.cqs {
		if have == c {
			d.cqs = append(d.cqs[:i], d.cqs[i+1:]...)
			return
		}
	}
}

// MROptions say how memory is registered.
type MROptions struct {
	Access  uct.Access
	Key     uint64
	HasKey  bool     // Key is the caller's choice
	Base    uint64   // offset of the first byte, as peers count: its address, or 0
	Counter *Counter // counts peers' operations on the memory
}

// Register makes memory reachable by peers. The error is uct.ErrKeyInUse.
func (d *Domain) Register(buf []byte, o MROptions) (*uct.Region, error) {
	r, err := d.register(buf, o)
	if err != nil {
		return nil, err
	}
	r.SetBase(o.Base)
	if o.Counter != nil {
		Watch(r, o.Counter)
	}
	return r, nil
}

func (d *Domain) register(buf []byte, o MROptions) (*uct.Region, error) {
	if o.HasKey {
		return d.md.RegisterKey(o.Key, buf, o.Access)
	}
	return d.md.Register(buf, o.Access)
}

// Watch has a counter count peers' operations on memory.
func Watch(r *uct.Region, c *Counter) {
	r.Notify(func(*uct.EP, uct.Access, int) { c.count(nil) })
}

// onRemoteData puts the immediate data of a peer's write into the queue of the endpoint.
func (d *Domain) onRemoteData(from *uct.EP, port uint8, data uint64, length int) {
	if int(port) >= len(d.eps) || d.eps[port] == nil {
		return
	}
	e := d.eps[port]
	e.o.Receive.push(&Entry{
		Flags: RMA | RemoteWrite | RemoteData, Length: uint64(length), Data: data,
		Source: e.o.AV.address(tag.Peer{Rank: uint32(from.Rank())}),
	})
	e.o.RemoteWrites.count(nil)
}

// Crowded reports whether the job's ranks on this node have fewer CPUs than they are.
func (d *Domain) Crowded() bool { return d.iface.Channel().Crowded() }

// Sleeping reports whether a goroutine waits in Wait.
func (d *Domain) Sleeping() bool { return d.asleep.Load() != nil }
