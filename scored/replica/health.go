package replica

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"
	"golang.org/x/sys/unix"
)

// Disk describes the health of the disk that holds the state.
type Disk struct {
	// SlowestWrite is how long the longest write of the log took in the last minute or two.
	SlowestWrite time.Duration
	// FreeBytes are there for this server; SizeBytes is 0 where the state is in memory.
	FreeBytes, SizeBytes uint64
}

// Disk checks the disk. The error wraps ErrDisk if it has failed.
func (r *Replica) Disk() (Disk, error) {
	if r.stores.disk == nil {
		return Disk{}, nil
	}
	if err := r.Err(); err != nil {
		return Disk{}, err
	}
	var about unix.Statfs_t
	if err := unix.Statfs(r.stores.dir, &about); err != nil {
		return Disk{}, r.stores.disk.Explain("looking for its room", err)
	}
	return Disk{
		SlowestWrite: r.stores.disk.SlowestWrite(),
		FreeBytes:    about.Bavail * uint64(about.Bsize), SizeBytes: about.Blocks * uint64(about.Bsize),
	}, nil
}

// contact is what another replica's answers to heartbeats have told.
type contact struct {
	term      uint64        // in which it was the leader's
	last      uint64        // number of the last entry that it has
	roundTrip time.Duration // on average; 0: there was none
}

// smoothing is the part that a new round trip has in the average: of the last dozen or so, half a
// second.
const smoothing = 8

// contacts are those of all others, at a replica that leads or has led: those of an earlier term
// tell nothing.
type contacts struct {
	mu  sync.Mutex
	all map[raft.ServerID]contact
}

// onAnswer takes an answer to a heartbeat.
func (c *contacts) onAnswer(id raft.ServerID, term, last uint64, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = make(map[raft.ServerID]contact)
	}
	was := c.all[id]
	if was.term != term {
		was = contact{term: term, roundTrip: took}
	}
	c.all[id] = contact{term, last, was.roundTrip + (took-was.roundTrip)/smoothing}
}

// get gives what is known in a term; false: nothing.
func (c *contacts) get(id raft.ServerID, term uint64) (contact, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := c.all[id]
	return found, found.term == term && term > 0
}
