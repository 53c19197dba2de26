package pm

import (
	"crypto/sha256"
	"encoding/binary"
	"net/netip"
)

// Also has Wait, WaitSpace and Nap end, too, when ready returns true. Whoever makes it true then
// calls Rouse. It is for layers that hear of peers by other ways than the channel.
func (c *Channel) Also(ready func() bool) { c.also = ready }

// pollAll is Poll, and what else ends a wait: frames that are expected, and what Also said.
func (c *Channel) pollAll() bool {
	if c.net != nil && c.net.bulk != nil && c.net.bulk.expected && c.net.bulk.there() {
		return true
	}
	return c.Poll() || c.also != nil && c.also()
}

// Job returns a number that no other job has, and that says nothing of the job's keys.
func (c *Channel) Job() uint64 {
	sum := sha256.Sum256(binary.LittleEndian.AppendUint64([]byte("score job "), c.img.Job))
	return binary.LittleEndian.Uint64(sum[:])
}

// Host is the address at which other hosts reach this node.
func (c *Channel) Host() netip.Addr {
	if host := c.process.settings.Host; host.IsValid() {
		return host
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}
