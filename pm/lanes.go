package pm

// A lane is the receiver's memory. Where more ranks talk to a receiver than it has lanes, it asks a
// rank that has fallen silent to give its lane back; that rank goes on in the ring that all share.

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

// giveLanes gives the lanes back that receivers ask for. What cannot be given back now is tried again
// with the next look.
func (c *Channel) giveLanes() {
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

// leaveLanes gives all lanes back, as far as the receivers have space for the news.
func (c *Channel) leaveLanes() {
	for _, s := range c.senders {
		if s != nil {
			s.Abandon()
			s.GiveBack()
		}
	}
}
