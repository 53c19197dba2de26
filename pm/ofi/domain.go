package ofi

import (
	"context"
	"score/pm"
	"score/pm/mem"
	"score/pm/tag"
	"score/pm/uct"
	"slices"
)

// Domain is this rank's part of the network: its channel, its memory, its progress.
type Domain struct {
	gate   gate
	auto   *automatic
	worker *uct.Worker
	iface  *uct.Iface
	md     *uct.MD
	stack  *tag.Stack
	eps    [tag.Ports]*Endpoint
	port   int // the one after the port opened last
	cqs    []*CQ
	spare  *transfer
	rouse  context.CancelFunc // ends a nap
	counts bool               // an endpoint counts what peers read
}

// Open makes a domain of an open channel, which nobody else may use from then on.
func Open(ch *pm.Channel) *Domain {
	_ = mem.Allow() // without it long messages are copied twice
	d := &Domain{worker: uct.NewWorker(), md: uct.NewMD(0)}
	d.rouse = ch.Rouse
	d.iface = d.worker.Open(ch, d.md)
	d.stack = tag.NewStack(d.iface, d.md, tag.Settings{})
	d.iface.HandleData(d.onRemoteData)
	return d
}

// Progress handles what has come and sends what was waiting; it returns how much that was.
func (d *Domain) Progress() int {
	n := d.worker.Progress()
	for _, c := range d.cqs {
		c.refill()
	}
	return n
}

// Close closes endpoints, channel and memory. The caller must not hold the lock.
func (d *Domain) Close() error {
	d.StopProgress()
	d.Lock()
	defer d.Unlock()
	for _, ep := range d.eps {
		if ep != nil {
			_ = ep.Close()
		}
	}
	err := d.worker.Close()
	_ = d.md.Close()
	return err
}

// CloseCQ closes a queue. Operations still under way put nothing into it any more.
func (d *Domain) CloseCQ(c *CQ) {
	c.closed, c.ring, c.spill = true, nil, nil
	d.cqs = slices.DeleteFunc(d.cqs, func(have *CQ) bool { return have == c })
}

// MROptions say how memory is registered.
type MROptions struct {
	Access uct.Access
	Key    uint64
	HasKey bool   // Key is the caller's choice
	All    bool   // all memory of the process in place of a buffer; offsets are addresses
	Base   uint64 // offset of the first byte, as peers count: its address, or 0
}

// Register makes memory reachable by peers. The error is uct.ErrKeyInUse, or uct.ErrUnknowable.
func (d *Domain) Register(buf []byte, o MROptions) (*uct.Region, error) {
	r, err := d.register(buf, o)
	if err != nil {
		return nil, err
	}
	r.SetBase(o.Base)
	d.Watch(r, nil, nil)
	return r, nil
}

func (d *Domain) register(buf []byte, o MROptions) (*uct.Region, error) {
	switch {
	case o.All && o.HasKey:
		return d.md.RegisterAllKey(o.Key, o.Access)
	case o.All:
		return d.md.RegisterAll(o.Access)
	case o.HasKey:
		return d.md.RegisterKey(o.Key, buf, o.Access)
	}
	return d.md.Register(buf, o.Access)
}

// Watch sets counters, which may be nil, of peers' operations on memory: writes change it, reads do
// not. The counters of the endpoint that the peer named count, too; for them an atomic operation
// that fetches is a read. This follows libfabric: OpenSHMEM waits for writes of either kind.
func (d *Domain) Watch(r *uct.Region, reads, writes *Counter) {
	notify := r.Notify
	if reads == nil && !d.counts {
		notify = r.NotifyWrites
	}
	notify(func(_ *uct.EP, port uint8, access uct.Access, _ int) {
		if access == uct.RemoteRead {
			reads.count(nil)
		} else {
			writes.count(nil)
		}
		e := d.at(port)
		switch {
		case e == nil:
		case access&uct.RemoteRead != 0:
			e.o.RemoteReads.count(nil)
		default:
			e.o.RemoteWrites.count(nil)
		}
	})
}

// at is the endpoint of a port; nil if there is none.
func (d *Domain) at(port uint8) *Endpoint {
	if int(port) >= len(d.eps) {
		return nil
	}
	return d.eps[port]
}

// onRemoteData puts the immediate data of a peer's write into the queue of the endpoint.
func (d *Domain) onRemoteData(from *uct.EP, ports uct.Ports, data uint64, length int) {
	e := d.at(ports.To)
	if e == nil {
		return
	}
	e.o.Receive.add(Entry{
		Flags: RMA | RemoteWrite | RemoteData, Length: uint64(length), Data: data,
		Source: e.o.AV.address(tag.Peer{Rank: uint32(from.Rank()), Port: ports.From}),
	})
}

// Crowded reports whether the job's ranks on this node have fewer CPUs than they are.
func (d *Domain) Crowded() bool { return d.iface.Channel().Crowded() }
