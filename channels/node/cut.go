package node

import (
	"score/channels/abi"
	"slices"
)

// Cut is what a job's contexts on this node had done at one instant. Its parts are read one after
// the other, so only two equal readings in a row make a cut: then nothing happened in between.
type Cut struct {
	Sent, Received, Refused uint64 // sums over all contexts
	// Pending counts contexts with messages or answers for other nodes that are still on their way.
	Pending int
	// Ranks counts the ranks here that have not ended. Asleep counts those of them that wait on a
	// channel, while nothing has come on any channel on which they wait.
	Ranks, Asleep int
	// Waits are the contexts that a process has open, by rank and channel.
	Waits []Wait
}

// Wait says how the rank of an open context waits.
type Wait struct {
	Rank, Channel  uint32
	How            uint32 // abi.WaitNone, ...
	Asleep         bool   // nothing has come since it fell asleep
	Since          int64  // by channels.Nanos; another wait has another instant
	Sent, Received uint64
}

// Sleeps reports whether the rank waits here, and for nothing that has come.
func (w *Wait) Sleeps() bool { return w.How != abi.WaitNone && w.Asleep }

// Cut fills c. It takes no driver lock and does not wait for the loop, so it costs a few loads for
// each context, and may be asked at any time, also while the job is away.
func (j *Job) Cut(c *Cut) {
	j.mu.Lock()
	defer j.mu.Unlock()
	*c = Cut{Waits: c.Waits[:0], Ranks: len(j.ranks) - len(j.ended)}
	if j.closed {
		return
	}
	for _, context := range j.list() {
		context.guard(func() { c.add(context) })
	}
	c.Waits = slices.DeleteFunc(c.Waits, func(w Wait) bool { return j.ended[w.Rank] })
	c.count()
}

// count counts the ranks that sleep; those of one rank are next to each other.
func (c *Cut) count() {
	for rest := c.Waits; len(rest) > 0; {
		n, sleeps, roused := 0, false, false
		for ; n < len(rest) && rest[n].Rank == rest[0].Rank; n++ {
			sleeps = sleeps || rest[n].Sleeps()
			roused = roused || rest[n].How != abi.WaitNone && !rest[n].Asleep
		}
		if sleeps && !roused {
			c.Asleep++
		}
		rest = rest[n:]
	}
}

func (c *Cut) add(of *Context) {
	w := Wait{Rank: of.rank, Channel: of.channel, Sent: of.img.Counter(abi.Sent), Received: of.img.Counter(abi.Received)}
	c.Sent += w.Sent
	c.Received += w.Received
	c.Refused += of.img.Counter(abi.Refused)
	if of.unanswered() {
		c.Pending++
	}
	if of.img.State() != abi.StateOpen || of.img.Owner(abi.RoleProcess).Pid == 0 {
		return
	}
	w.How, w.Since = of.img.Waits()
	w.Asleep = of.img.Sleeping()
	c.Waits = append(c.Waits, w)
}

// unanswered reports whether something of the context is on its way. A peer is active while a
// driver has work for it. While the context is away all peers are active; then the state in which
// it left counts.
func (c *Context) unanswered() bool {
	if c.driver == nil {
		return false
	}
	if c.img.Away() {
		return !c.answered.Load()
	}
	_, active := c.img.NextActive(0)
	return active
}
