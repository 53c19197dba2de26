package drive

import (
	"score/channels"
)

// mend puts right what an agent that was killed in its section left half done.
// What it had taken from the network and not acknowledged is as lost on the wire; what it
// had acknowledged must be in the inbox, and what had been acknowledged to it is freed.
func (d *Driver) mend() {
	d.mended = true
	if a, ok := d.img.Accepting(); ok {
		d.takeBack(a)
		d.img.Accepted()
	}
	for rank := range d.img.Active() {
		if p := d.peer(rank); p != nil {
			d.acknowledged(p)
		}
	}
}

// takeBack undoes the acceptance of a frame that did not get into the inbox.
func (d *Driver) takeBack(a channels.Accepting) {
	p := d.peer(a.Rank)
	if p == nil || !d.inbox() {
		return
	}
	if d.in.Tail() == a.Tail && d.in.Got(a.Rank) == a.Got {
		p.recv.TakeBack(a.Seq)
	}
}
