package staging

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

const (
	// userShare bounds the pinned files of one user, which a job holds or which are on their way:
	// they may take 1/userShare of the limit. So no user alone keeps out the files of others.
	userShare = 2
	// grantBytes is the size for which room is made at once, so that the search for files to remove
	// runs rarely.
	grantBytes = 1 << 20
	// maxFilesOfUser bounds the number of one user's files: enough for many jobs.
	maxFilesOfUser = 4096
)

// quota returns the bytes that pinned files of one user may take: all of the limit for an agent
// that is not root, which has one user.
func (c *Cache) quota() int64 {
	if os.Geteuid() != 0 {
		return c.limit
	}
	return c.limit / userShare
}

// admit refuses a file that cannot fit, and removes a file if its user has too many. The caller
// holds mu.
func (c *Cache) admit(uid uint32, size int64) error {
	if size > c.quota() {
		return fmt.Errorf("%w: it has %d bytes, and files of one user's jobs may take %d of the %d that all may take (stage_limit)",
			ErrFull, size, c.quota(), c.limit)
	}
	var oldest *entry
	files, held := 0, c.heldKeys()
	for k, e := range c.entries {
		if k.uid != uid {
			continue
		}
		files++
		if !c.pinned(e, held) && (oldest == nil || e.used < oldest.used) {
			oldest = e
		}
	}
	if files < maxFilesOfUser {
		return nil
	}
	if oldest == nil {
		return fmt.Errorf("%w: %d files of the user's jobs that wait or run are here, and no more can be", ErrFull, files)
	}
	c.discard(oldest)
	return nil
}

// grant makes room for at least minGrant more bytes of an incomplete file, and returns for how
// many.
func (c *Cache) grant(e *entry, minGrant int64) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[e.key] != e {
		return 0, errUnwanted
	}
	n := min(max(minGrant, grantBytes), e.size-e.bytes)
	if err := c.makeRoom(e.key.uid, n); err != nil {
		return 0, err
	}
	e.bytes += n
	c.total += n
	return n, nil
}

// errUnwanted ends the fetch of a file that nobody waits for any more.
var errUnwanted = errors.New("nobody waits for the file any more")

// makeRoom removes files until n more bytes of a user fit: each time the least recently used file
// of the user who has most. The caller holds mu.
func (c *Cache) makeRoom(uid uint32, n int64) error {
	held := c.heldKeys()
	var mine int64
	for k, e := range c.entries {
		if k.uid == uid && c.pinned(e, held) {
			mine += e.bytes
		}
	}
	if n > 0 && mine+n > c.quota() {
		return fmt.Errorf(
			"%w: files of the user's jobs that wait or run take %d bytes of the %d that those of one user may take of the %d for all (stage_limit), and %d more are asked for",
			ErrFull,
			mine,
			c.quota(),
			c.limit,
			n,
		)
	}
	for c.total+n > c.limit {
		victim := c.victim(held, anyUser)
		if victim == nil {
			return fmt.Errorf("%w: files of jobs that wait or run take %d bytes of the %d that all may take (stage_limit), and %d more are asked for",
				ErrFull, c.total, c.limit, n)
		}
		c.discard(victim)
	}
	return nil
}

// evict removes a file that no job needs if writing a user's file failed with err because the disk,
// or the user's quota, is full. It reports whether to try again.
func (c *Cache) evict(uid uint32, err error) bool {
	of := anyUser
	switch {
	case errors.Is(err, unix.EDQUOT):
		of = func(owner uint32) bool { return owner == uid }
	case !errors.Is(err, unix.ENOSPC):
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	victim := c.victim(c.heldKeys(), of)
	if victim == nil {
		return false
	}
	c.discard(victim)
	return true
}

func anyUser(uint32) bool { return true }

// victim returns the file to remove next, among those of some users; nil if none can be removed.
// The caller holds mu.
func (c *Cache) victim(held map[key]bool, of func(uid uint32) bool) *entry {
	bytes, oldest := make(map[uint32]int64), make(map[uint32]*entry)
	for k, e := range c.entries {
		if !of(k.uid) {
			continue
		}
		bytes[k.uid] += e.bytes
		if o := oldest[k.uid]; !c.pinned(e, held) && (o == nil || e.used < o.used) {
			oldest[k.uid] = e
		}
	}
	var victim *entry
	for uid, e := range oldest {
		if victim == nil || bytes[uid] > bytes[victim.key.uid] {
			victim = e
		}
	}
	return victim
}

// pinned reports whether a file cannot be removed. The caller holds mu.
func (c *Cache) pinned(e *entry, held map[key]bool) bool {
	return e.users > 0 || held[e.key] || !e.isOver()
}

// discard removes an unused file. The caller holds mu.
func (c *Cache) discard(e *entry) {
	delete(c.entries, e.key)
	c.total -= e.bytes
	c.remove(e.key)
}

// heldKeys returns the files that jobs hold. The caller holds mu.
func (c *Cache) heldKeys() map[key]bool {
	held := make(map[key]bool)
	for _, keys := range c.held {
		for _, k := range keys {
			held[k] = true
		}
	}
	return held
}

// Kept describes a user's files in the cache.
type Kept struct {
	UID   uint32
	Files int
	Bytes int64
	Held  int // files that jobs hold, or that are on their way
}

// List returns the kept files by user; unless all is set, for one user.
func (c *Cache) List(uid uint32, all bool) []Kept {
	c.mu.Lock()
	defer c.mu.Unlock()
	held, users := c.heldKeys(), make(map[uint32]*Kept)
	for k, e := range c.entries {
		if !all && k.uid != uid {
			continue
		}
		kept := users[k.uid]
		if kept == nil {
			kept = &Kept{UID: k.uid}
			users[k.uid] = kept
		}
		kept.Files++
		kept.Bytes += e.bytes
		if c.pinned(e, held) {
			kept.Held++
		}
	}
	list := make([]Kept, 0, len(users))
	for _, kept := range users {
		list = append(list, *kept)
	}
	slices.SortFunc(list, func(a, b Kept) int { return cmp.Compare(a.UID, b.UID) })
	return list
}

// Clear removes the files of a user, or of all users, except those that jobs hold.
func (c *Cache) Clear(uid uint32, all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := c.heldKeys()
	for k, e := range c.entries {
		if (all || k.uid == uid) && !c.pinned(e, held) {
			c.discard(e)
		}
	}
}
