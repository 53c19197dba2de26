package pm

import (
	"score/channels"
	"score/channels/abi"
)

// PeerProcess returns the process of a rank on this node, by its number and by its start in clock
// ticks after boot. It is false if the rank is on another node or in another pid namespace, or has
// not opened the channel.
func (c *Channel) PeerProcess(rank int) (pid int, start uint64, ok bool) {
	place, ok := c.place(rank)
	if !ok {
		return 0, 0, false
	}
	img, err := c.image(place)
	if err != nil {
		return 0, 0, false
	}
	me, err := channels.Self()
	if err != nil {
		return 0, 0, false
	}
	owner := img.Owner(abi.RoleProcess)
	if owner.Pid == 0 || owner.Space != me.Space {
		return 0, 0, false
	}
	return int(owner.Pid), owner.Start, true
}
