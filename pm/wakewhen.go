package pm

import (
	"crypto/sha256"
	"encoding/binary"
	"net/netip"
)

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

// Job returns a number that no other job has and that does not reveal the job's keys.
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
