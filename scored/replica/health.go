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
	// FreeBytes is the space available to this server; SizeBytes is 0 if the state is in memory.
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
		return Disk{}, r.stores.disk.Explain("reading its free space", err)
	}
	return Disk{
		SlowestWrite: r.stores.disk.SlowestWrite(),
		FreeBytes:    about.Bavail * uint64(about.Bsize), SizeBytes: about.Blocks * uint64(about.Bsize),
	}, nil
}

// contact holds what another replica's answers to heartbeats say.
type contact struct {
	term      uint64        // of this leader
	last      uint64        // index of the other replica's last entry
	roundTrip time.Duration // average; 0: none yet
	sent      time.Time     // when the last heartbeat was sent that was answered
}

// smoothing is the inverse weight of a new round trip in the average, which covers the last dozen
// or so: half a second.
const smoothing = 8

// contacts holds the contacts of all other replicas, if this one leads or has led. Those of earlier
// terms are void.
type contacts struct {
	mu  sync.Mutex
	all map[raft.ServerID]contact
}

// onAnswer records an answer to a heartbeat.
func (c *contacts) onAnswer(id raft.ServerID, term, last uint64, sent time.Time) {
	took := time.Since(sent)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = make(map[raft.ServerID]contact)
	}
	was := c.all[id]
	if was.term != term {
		was = contact{term: term, roundTrip: took}
	}
	c.all[id] = contact{term, last, was.roundTrip + (took-was.roundTrip)/smoothing, sent}
}

// get returns the contact in a term; false: there is none.
func (c *contacts) get(id raft.ServerID, term uint64) (contact, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, known := c.all[id]
	if !known || found.term != term {
		return contact{}, false
	}
	return found, true
}
