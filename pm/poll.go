package pm

import "score/channels"

// poll takes the next message, from this node or another.
func (c *Channel) poll() (channels.Message, bool) {
	m, ok := c.in.Poll()
	if c.net == nil {
		return m, ok
	}
	if ok {
		if c.net.taken++; c.net.taken >= attendEvery {
			c.drive(1)
		}
		return m, true
	}
	if !c.progress() {
		return m, false
	}
	return c.in.Poll()
}

// progress drives the network, if it is worth a look, and reports whether something came.
func (c *Channel) progress() bool {
	n := c.net
	if n == nil {
		return false
	}
	if n.empty >= quietAfter && !n.alone {
		if n.skipped++; n.skipped < quietEvery {
			return false
		}
	}
	return c.drive(n.looks())
}

// drive looks so many times at the network, until something comes.
func (c *Channel) drive(looks int) bool {
	n := c.net
	n.taken, n.skipped = 0, 0
	if !n.driver.Enter() {
		return false // the agent drives
	}
	came := n.driver.Poll(looks)
	n.driver.Leave()
	if came {
		n.empty = 0
	} else {
		n.empty += looks
	}
	return came
}

// looks returns how often a look at the network may look. Nothing comes from elsewhere to a rank that
// is alone on its node. If it has been answered lately it is waiting, as a rule, and looks in a row,
// with nothing in between, find sooner what comes.
func (n *network) looks() int {
	if n.alone && n.empty < quietAfter {
		return looksMost
	}
	return 1
}
