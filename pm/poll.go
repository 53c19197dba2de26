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

// progress drives the network, if polling it is worth its cost now, and reports whether something
// came.
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
	return c.drive(n.polls())
}

// drive polls the network up to polls times, until something comes.
func (c *Channel) drive(polls int) bool {
	n := c.net
	n.taken, n.skipped = 0, 0
	if !n.driver.Enter() {
		return false // the agent drives
	}
	came := n.driver.Poll(polls)
	n.driver.Leave()
	if came {
		n.empty = 0
	} else {
		n.empty += polls
	}
	return came
}

// polls returns how many times in a row the network is polled. To a rank that is alone on its node
// nothing comes from elsewhere. If it was answered lately it is usually waiting, and polls in a
// row, with nothing in between, find an answer sooner. But bulk datagrams that it waits for should
// not wait for these.
func (n *network) polls() int {
	if n.alone && n.empty < quietAfter && n.watcher.bulk < 0 {
		return maxPolls
	}
	return 1
}
