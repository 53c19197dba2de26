package node

import (
	"errors"
	"fmt"
	"score/channels"
	"score/channels/abi"
	"score/channels/link"
	"score/flowctl"
	"time"
)

// ContextStatus is what a person wants to know of a context.
type ContextStatus struct {
	Rank, Channel uint32
	State         uint32 // abi.StateOpen, ...
	Asleep        bool   // the rank sleeps until a message comes
	Away          bool   // not resident: it refuses what comes
	Mode          string // ModeWatched, ...: who drives
	Geometry      abi.Geometry
	Owner         channels.Process // the rank's process; Pid 0 before it opened the channel
	Counters      [len(abi.Counters)]uint64
	Address       link.Address // of its socket; none without one
	Port          link.Stats   // of the agent's port
}

// PeerStatus is what a person wants to know of a context's exchange with a rank on another node.
type PeerStatus struct {
	Rank     uint32
	Sender   flowctl.SenderStatus
	Receiver flowctl.ReceiverStatus
}

// peersMost bounds the ranks that Peers looks at besides those with something pending:
// looking allocates their entries.
const peersMost = 4096

// A rank that lost its CPU while it held the driver lock has it back within a turn of the
// kernel's scheduler, which lookPatience is longer than.
const (
	lookPatience = 20 * time.Millisecond
	lookPause    = time.Millisecond
)

// Contexts says how the job's contexts on this node are, by rank and channel. Of a
// damaged one only the names are there.
func (j *Job) Contexts() []ContextStatus {
	j.mu.Lock()
	all := j.list()
	j.mu.Unlock()
	stats := map[*Context]link.Stats{}
	j.node.loop.do(func() {
		for _, c := range all {
			if c.number != 0 {
				stats[c] = c.driver.Port().Stats()
			}
		}
	})
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil
	}
	result := make([]ContextStatus, len(all))
	for i, c := range all {
		result[i] = c.status()
		result[i].Port = stats[c]
	}
	return result
}

func (c *Context) status() ContextStatus {
	s := ContextStatus{Rank: c.rank, Channel: c.channel, Mode: modeNames[c.mode.Load()], Geometry: c.img.Geometry(), Address: c.at}
	c.guard(func() {
		s.State, s.Asleep, s.Owner = c.img.State(), c.img.Sleeping(), c.img.Owner(abi.RoleProcess)
		s.Away = c.img.Away()
		for i := range s.Counters {
			s.Counters[i] = c.img.Counter(abi.Counter(i))
		}
	})
	if c.damaged.Load() {
		s.Mode = ModeDamaged
	}
	return s
}

// Peers says how a context's exchange with ranks on other nodes is, of those that it ever had
// to do with. It takes the driver lock for a moment, and tries for lookPatience to get it: the
// errors are ErrContext, channels.ErrHolder and channels.ErrDamaged.
func (j *Job) Peers(channel, rank uint32) (peers []PeerStatus, err error) {
	for until := time.Now().Add(lookPatience); ; time.Sleep(lookPause) {
		peers, err = j.peerStatuses(channel, rank)
		if !errors.Is(err, channels.ErrHolder) || time.Now().After(until) {
			return peers, err
		}
	}
}

func (j *Job) peerStatuses(channel, rank uint32) (peers []PeerStatus, err error) {
	j.mu.Lock()
	c := j.contexts[name{channel, rank}]
	j.mu.Unlock()
	if c == nil {
		return nil, fmt.Errorf("%w: channel %d of rank %d", ErrContext, channel, rank)
	}
	if c.driver == nil {
		return nil, nil
	}
	err = ErrClosed
	j.node.loop.do(func() {
		if c.number == 0 {
			return
		}
		if fault := channels.Guard(func() { peers, err = c.peers() }); fault != nil {
			err = fault
			j.node.loop.abandon(c, fault)
		}
	})
	return peers, err
}

func (c *Context) peers() (peers []PeerStatus, err error) {
	if err := c.take(); err != nil {
		return nil, err
	}
	defer c.leave()
	look := func(rank uint32) {
		s, r, err := c.img.Flow(rank)
		if err != nil {
			return // of this node, or no memory
		}
		p := PeerStatus{Rank: rank, Sender: s.Status(), Receiver: r.Status()}
		if p.Sender.Sent != 0 || p.Sender.Queued != 0 || p.Sender.Failed || p.Receiver.Echo != 0 {
			peers = append(peers, p)
		}
	}
	if ranks := c.job.geometry.Ranks; ranks <= peersMost {
		for rank := range ranks {
			look(rank)
		}
		return peers, nil
	}
	for rank := range c.img.Active() {
		if look(rank); len(peers) == peersMost {
			break
		}
	}
	return peers, nil
}
