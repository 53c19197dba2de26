package staging

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// makeRoom removes the files that were used longest ago, so that one of that size fits. The caller holds mu.
func (c *Cache) makeRoom(size int64) error {
	if size > c.limit {
		return fmt.Errorf("%w: it has %d bytes, and files of jobs may take %d in all (stage_limit)", ErrFull, size, c.limit)
	}
	if c.total+size <= c.limit {
		return nil
	}
	held := c.heldKeys()
	var free []*entry
	for k, e := range c.entries {
		if e.users == 0 && !held[k] && e.isOver() {
			free = append(free, e)
		}
	}
	slices.SortFunc(free, func(a, b *entry) int { return cmp.Compare(a.used, b.used) })
	for _, e := range free {
		if c.total+size <= c.limit {
			break
		}
		c.discard(e)
	}
	if c.total+size > c.limit {
		return fmt.Errorf("%w: files of jobs that wait or run take %d bytes of the %d that all may take (stage_limit), and %d more are asked for",
			ErrFull, c.total, c.limit, size)
	}
	return nil
}

// discard removes a file that nobody uses. The caller holds mu.
func (c *Cache) discard(e *entry) {
	delete(c.entries, e.key)
	c.total -= e.size
	c.remove(e.key)
}

// heldKeys are the files that jobs hold. The caller holds mu.
func (c *Cache) heldKeys() map[key]bool {
	held := make(map[key]bool)
	for _, keys := range c.held {
		for _, k := range keys {
			held[k] = true
		}
	}
	return held
}

// Kept is what a user has in the cache.
type Kept struct {
	UID   uint32
	Files int
	Bytes int64
	Held  int // files that jobs hold, or that are on their way
}

// List tells what is kept, by user; of one user unless all is set.
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
		kept.Bytes += e.size
		if held[k] || e.users > 0 || !e.isOver() {
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

// Clear removes what is kept of a user, or of all, but for what jobs hold.
func (c *Cache) Clear(uid uint32, all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := c.heldKeys()
	for k, e := range c.entries {
		if (all || k.uid == uid) && !held[k] && e.users == 0 && e.isOver() {
			c.discard(e)
		}
	}
}

// sweep takes up the files that an agent before this one has left, oldest first, and removes what is half. Nobody
// else has the cache yet. What users have put beside them is left alone.
func (c *Cache) sweep() {
	users, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	type found struct {
		*entry
		modified int64
	}
	var all []found
	for _, user := range users {
		uid, err := strconv.ParseUint(user.Name(), 10, 32)
		if err != nil || !user.IsDir() {
			continue
		}
		files, err := os.ReadDir(filepath.Join(c.dir, user.Name()))
		if err != nil {
			continue
		}
		for _, file := range files {
			k := key{uid: uint32(uid)}
			name, _, half := strings.Cut(file.Name(), partInfix)
			if n, err := hex.Decode(k.sum[:], []byte(clipped(name))); err != nil || n != SumBytes || len(name) != 2*SumBytes {
				continue
			}
			info, err := file.Info()
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			if half {
				_ = removeAs(k.uid, filepath.Join(c.dir, user.Name(), file.Name())) // the next one tries again
				continue
			}
			e := newEntry(k, info.Size())
			e.have = e.size
			close(e.over)
			all = append(all, found{e, info.ModTime().UnixNano()})
		}
	}
	slices.SortFunc(all, func(a, b found) int { return cmp.Compare(a.modified, b.modified) })
	for _, f := range all {
		c.clock++
		f.used = c.clock
		c.entries[f.key] = f.entry
		c.total += f.size
	}
	_ = c.makeRoom(0) // the limit may be smaller than it was
}

// clipped is the name, but not longer than a digest.
func clipped(name string) string { return name[:min(len(name), 2*SumBytes)] }
