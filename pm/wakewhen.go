package pm

// WakeWhen makes Wait, WaitSpace and Nap end, too, when ready returns true. The goroutine that
// makes it true then calls Rouse. It is for layers that receive from peers by other ways than the
// channel.
func (c *Channel) WakeWhen(ready func() bool) { c.wakeWhen = ready }

// pollAll is Poll for all that ends a wait: messages, expected bulk datagrams, and the condition of
// WakeWhen.
func (c *Channel) pollAll() bool {
	if c.net != nil && c.net.bulk != nil && c.net.bulk.expected && c.net.bulk.readable() {
		return true
	}
	return c.Poll() || c.wakeWhen != nil && c.wakeWhen()
}
