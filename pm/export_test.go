package pm

// ReceiveAfterPoll is the rest of Receive after a poll that found nothing.
func (c *Channel) ReceiveAfterPoll() (Message, error) { return c.receiveLast() }

// Watched reports whether the channel's watcher waits for datagrams, and whether for those of bulk
// transfers, too.
func (c *Channel) Watched() (armed, bulk bool) {
	w := c.net.watcher
	return w.armed.Load(), w.armed.Load() && w.with >= 0
}
