package pm

// ReceiveAfterPoll is the rest of Receive after a poll that found nothing.
func (c *Channel) ReceiveAfterPoll() (Message, error) { return c.receiveLast() }
