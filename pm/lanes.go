package pm

// A lane is the receiver's memory. If more ranks send to a receiver than it has lanes, it asks a
// silent rank to give its lane back; that rank then uses the shared ring.

// askLane asks a rank that sends to this one to give its lane back.
func (c *Channel) askLane(rank uint32) {
	place, ok := c.place(int(rank))
	if !ok {
		return
	}
	if img, err := c.image(place); err == nil {
		img.AskLanes()
	}
}

// returnLanes gives back the lanes that receivers ask for. If that fails now, the next poll tries
// again.
func (c *Channel) returnLanes() {
	asked := c.img.LanesAsked()
	all := true
	for _, s := range c.senders {
		if s != nil && s.Recalled() {
			all = s.GiveBack() && all
		}
	}
	if all {
		c.lanesAsked = asked
	}
}

// leaveLanes gives all lanes back, as far as the receivers have space for the record.
func (c *Channel) leaveLanes() {
	for _, s := range c.senders {
		if s != nil {
			s.Abandon()
			s.GiveBack()
		}
	}
}
