package sim

import (
	"encoding/binary"
	"score/channels/abi"
	"time"
)

// A hostile process may ruin its own job, which then is no longer checked; all others go on.

const (
	scribbles    = 40 // in a row, at most
	maxScribbled = 8 * abi.PageBytes
)

// scribble has a process write into its image, now and some times more.
func (k *cluster) scribble(e *end) {
	if !e.made || e.dead || k.w.calmed || e.part.removed {
		return
	}
	r := &k.dicePad
	e.ruined, e.part.job.hostile = true, true
	for range r.between(1, scribbles) {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], pick(r, 0, 1, r.next(), r.next()>>r.below(64), ^uint64(0)))
		_, _ = e.shared.img.File().WriteAt(b[:r.between(1, len(b))], int64(r.below(maxScribbled))) // as far as it is that long
	}
	k.w.queue.add(k.w.now+r.span(0, int64(2*time.Millisecond)), evHostile, 0, uint16(e.index))
	k.w.touch(e)
}

// release drops a context that cannot be used any more.
func (c *sharedContext) release() {
	c.end.part.residence.Drop(&c.member)
	c.end.dead, c.end.agentDrives = true, false
	c.end.w.recount()
}

// harmless reports whether what the end does or suffers is nobody's fault but its job's.
func (e *end) harmless() bool { return e.part != nil && e.part.job.hostile }
