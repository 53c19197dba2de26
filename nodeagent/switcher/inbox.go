package switcher

import (
	"score/ctxswitch"
	"sync/atomic"
	"time"
)

// command is a command to the switching thread.
type command struct {
	next  *command
	event ctxswitch.Event
	// job is set for EventJobAdded and EventJobAdopted.
	job *job
	// network is set for EventJobConnected, flushes for EventDone.
	network Network
	flushes Flushes
	// usage gets the answer to EventJobRemoved.
	usage chan<- Usage
	// report, if not nil, asks for a report instead of an event.
	report *Report
	// alive, if not nil, is closed instead of an event.
	alive chan<- struct{}
}

// inbox takes commands from many writers for one reader. It is a lock-free
// stack, which the reader takes whole and reverses: so the reader, which runs
// at real-time priority, never waits for a writer that lost the CPU.
type inbox struct {
	top atomic.Pointer[command]
}

// closedInbox as top marks a closed inbox.
var closedInbox = new(command)

// put adds a command. ok is false if the inbox is closed. first reports whether it was empty, so
// the reader must be woken.
func (b *inbox) put(c *command) (first, ok bool) {
	for {
		top := b.top.Load()
		if top == closedInbox {
			return false, false
		}
		c.next = top
		if b.top.CompareAndSwap(top, c) {
			return top == nil, true
		}
	}
}

// take returns all commands, oldest first, or nil.
func (b *inbox) take() *command {
	if b.top.Load() == nil {
		return nil
	}
	return reversed(b.top.Swap(nil))
}

// close returns the unread commands; later commands are refused.
func (b *inbox) close() *command {
	return reversed(b.top.Swap(closedInbox))
}

func (b *inbox) empty() bool { return b.top.Load() == nil }

func reversed(newest *command) *command {
	var oldest *command
	for newest != nil && newest != closedInbox {
		next := newest.next
		newest.next, oldest = oldest, newest
		newest = next
	}
	return oldest
}

// answer answers the writer of a command that will not be carried out.
func (c *command) answer() {
	if c.usage != nil {
		c.usage <- Usage{}
	}
	if c.report != nil {
		c.report.filled <- struct{}{}
	}
	if c.alive != nil {
		close(c.alive)
	}
}

// Usage is a job's use of the node.
type Usage struct {
	Ran         time.Duration // the time that its gang was on, since its launch
	Slices      uint64        // how often it came on
	LateFreezes uint64        // how often it did not stop in time
	Switching   time.Duration // from planned instants until it ran again
}
