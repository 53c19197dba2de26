package pm

import "score/channels"

// stackEvery is how many publications of the channel's own counts share one of the layers above:
// those come from several places, and nobody reads them more than a few times a second.
const stackEvery = 16

// StackCounts are the counters of the layers above a channel. They are shown with the channel's
// own, by `scored channel show` and in dumps.
type StackCounts = channels.StackTally

// Count registers f, which the channel calls when it publishes counts: now and then while messages
// pass, before it sleeps, and when it is closed. f adds what its layer counts; it must not call the
// channel.
func (c *Channel) Count(f func(*StackCounts)) { c.stack = append(c.stack, f) }

// showStackRarely publishes them in one of stackEvery calls.
func (c *Channel) showStackRarely() {
	if c.shows++; c.shows%stackEvery == 0 {
		c.showStack()
	}
}

// showStack publishes what the layers above count.
func (c *Channel) showStack() {
	if len(c.stack) == 0 {
		return
	}
	c.counts = StackCounts{}
	for _, f := range c.stack {
		f(&c.counts)
	}
	c.img.ShowStack(&c.counts)
}
