package node

import (
	"score/channels/abi"
)

// Ended reports that the rank's process ended. Channels that it had not closed are dead, and the
// others are notified: at once on this node, and on the other nodes when what the rank had sent has
// arrived. The contexts are driven until Remove.
func (j *Job) Ended(rank uint32) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.has(rank) || j.closed || j.ended[rank] {
		return
	}
	j.ended[rank] = true
	for of, c := range j.contexts {
		if of.rank != rank {
			continue
		}
		gone := false
		c.guard(func() {
			if gone = c.img.State() != abi.StateClosed; gone {
				c.img.SetState(abi.StateGone)
			}
		})
		if gone || c.damaged.Load() {
			j.notifyDeath(of)
		}
		if c.driver != nil {
			j.node.loop.post(func() { j.node.loop.scheduleNow(c) })
		}
	}
}

// Respawned reports that a rank which ended has a new process. The channels of the old one stay
// dead: the others have been notified, and what they had sent is lost. The new process may open
// other channels.
func (j *Job) Respawned(rank uint32) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ended[rank] {
		delete(j.ended, rank)
		j.respawned[rank] = true
	}
}

// isDead reports whether the context belongs to a process that ended, though its rank has a new
// one.
func (j *Job) isDead(c *Context) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.respawned[c.rank] && c.img.State() == abi.StateGone
}

// peerEnded tells the node's contexts of a channel that a rank on another node closed its context
// (link.EndClosed) or died (link.EndDied).
func (j *Job) peerEnded(channel, rank uint32, how uint8) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for of, c := range j.contexts {
		if of.channel == channel && c.driver != nil {
			j.node.loop.post(func() { j.node.loop.postDeath(c, pendingDeath{rank, how}) })
		}
	}
}

// introduce tells a new context of the deaths before it, and the others of its own.
func (j *Job) introduce(c *Context) {
	if j.ended[c.rank] {
		c.img.SetState(abi.StateGone)
	}
	for of, its := range j.contexts {
		dead := of.rank
		if of.channel != c.channel || dead == c.rank || !j.ended[dead] && !j.respawned[dead] {
			continue
		}
		gone := its.damaged.Load()
		its.guard(func() { gone = its.img.State() == abi.StateGone })
		if gone {
			_ = c.img.MarkPeerGone(dead) // as in notifyDeath
		}
	}
}

// notifyDeath tells the other ranks of the channel about a death.
func (j *Job) notifyDeath(dead name) {
	for of, c := range j.contexts {
		if of.channel == dead.channel && of.rank != dead.rank {
			c.guard(func() { _ = c.img.MarkPeerGone(dead.rank) }) // a rank that cannot be notified learns it from the state
		}
	}
}
