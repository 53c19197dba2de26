package drive

import (
	"score/channels"
)

// repair completes what an agent killed inside its section left half done. Frames that it took
// from the network and did not acknowledge count as lost on the wire; frames that it acknowledged
// must be in the inbox; what peers acknowledged to it is freed.
func (d *Driver) repair() {
	d.mended = true
	if a, ok := d.img.Accepting(); ok {
		d.takeBack(a)
		d.img.Accepted()
	}
	d.repairCredits()
	for rank := range d.img.Active() {
		if p := d.peer(rank); p != nil {
			d.free(p)
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
