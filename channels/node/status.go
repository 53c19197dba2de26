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

// ContextStatus describes a context for people.
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

// PeerStatus describes a context's exchange with a rank on another node for people.
type PeerStatus struct {
	Rank     uint32
	Sender   flowctl.SenderStatus
	Receiver flowctl.ReceiverStatus
}

// maxPeersRead bounds the ranks that Peers reads besides those with something pending: reading
// allocates their entries.
const maxPeersRead = 4096

// A rank that lost its CPU while it held the driver lock gets it back within a turn of the kernel's
// scheduler; lockTryTime is longer than that.
const (
	lockTryTime  = 20 * time.Millisecond
	lockTryPause = time.Millisecond
)

// Contexts returns the state of the job's contexts on this node, by rank and channel. A damaged one
// has only its names.
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

// Peers returns the state of a context's exchange with ranks on other nodes, for all with which
// there was any. It takes the driver lock for a moment, and tries for lockTryTime to get it. The
// errors are ErrContext, channels.ErrHolder and channels.ErrDamaged.
func (j *Job) Peers(channel, rank uint32) (peers []PeerStatus, err error) {
	for until := time.Now().Add(lockTryTime); ; time.Sleep(lockTryPause) {
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
	appendPeer := func(rank uint32) {
		s, r, err := c.img.Flow(rank)
		if err != nil {
			return // of this node, or no memory
		}
		p := PeerStatus{Rank: rank, Sender: s.Status(), Receiver: r.Status()}
		if p.Sender.Sent != 0 || p.Sender.Queued != 0 || p.Sender.Failed || p.Receiver.Echo != 0 {
			peers = append(peers, p)
		}
	}
	if ranks := c.job.geometry.Ranks; ranks <= maxPeersRead {
		for rank := range ranks {
			appendPeer(rank)
		}
		return peers, nil
	}
	for rank := range c.img.Active() {
		if appendPeer(rank); len(peers) == maxPeersRead {
			break
		}
	}
	return peers, nil
}
