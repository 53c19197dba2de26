package mem

import (
	"errors"
	"sync"
)

// MaxMappings is how many windows a cache keeps mapped, however small: a sixteenth of what Linux
// lets a process map (vm.max_map_count).
const MaxMappings = 4096

// Cache keeps windows of peers mapped after use. If they are more than its limit, those that nobody
// uses are unmapped, the least recently used first. Those in use stay, even beyond the limit.
type Cache struct {
	mu       sync.Mutex
	limit    uint64
	bytes    uint64 // of all mappings that the cache has
	mappings map[key]*Mapping
	unused   Mapping // head of a ring: after it the least recently used, before it the latest
	stats    Stats
}

// Stats counts what a cache did.
type Stats struct {
	Bytes    uint64 // mapped now
	Mappings int    // now
	Hits     uint64 // calls of Map that found the window mapped
	Misses   uint64 // calls of Map that mapped it
	Stale    uint64 // mappings dropped since the peer had closed the window or ended
	Evicted  uint64 // mappings dropped for the limit
}

// NewCache returns a cache with a limit in bytes of mapped windows. The memory is the owners' and
// counts once; a mapping costs page tables, a 512th of it.
func NewCache(limit uint64) *Cache {
	c := &Cache{limit: limit, mappings: map[key]*Mapping{}}
	c.unused.prev, c.unused.after = &c.unused, &c.unused
	return c
}

// Stats returns the counts.
func (c *Cache) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Bytes, s.Mappings = c.bytes, len(c.mappings)
	return s
}

// acquire returns the mapping and counts one more use of it.
func (c *Cache) acquire(k key) (*Mapping, error) {
	c.mu.Lock()
	m, victims, err := c.find(k)
	c.mu.Unlock()
	// The new mapping is good whatever becomes of the old ones.
	_ = unmapAll(victims)
	return m, err
}

func (c *Cache) find(k key) (m *Mapping, victims *Mapping, err error) {
	if m = c.mappings[k]; m != nil {
		if err := m.recheck(); err != nil {
			c.stats.Stale++
			return nil, c.drop(m, nil), err
		}
		c.stats.Hits++
		c.use(m)
		return m, nil, nil
	}
	if m, err = newMapping(k); err != nil {
		return nil, nil, err
	}
	c.stats.Misses++
	m.users, m.kept = 1, true
	c.mappings[k] = m
	c.bytes += k.handle.Size
	return m, c.evict(), nil
}

// use takes the mapping out of the unused ones.
func (c *Cache) use(m *Mapping) {
	if m.users == 0 {
		m.unlink()
	}
	m.users++
}

func (m *Mapping) unlink() {
	m.prev.after, m.after.prev = m.after, m.prev
	m.prev, m.after = nil, nil
}

// release ends one use.
func (c *Cache) release(m *Mapping) error {
	c.mu.Lock()
	if m.users == 0 {
		c.mu.Unlock()
		return ErrReleased
	}
	m.users--
	var victims *Mapping
	switch {
	case m.users > 0:
	case m.kept:
		last := c.unused.prev
		m.prev, m.after = last, &c.unused
		last.after, c.unused.prev = m, m
		victims = c.evict()
	default:
		victims = m
	}
	c.mu.Unlock()
	return unmapAll(victims)
}

// evict drops unused mappings until the others are within the limits, and returns them.
func (c *Cache) evict() (victims *Mapping) {
	for c.bytes > c.limit || len(c.mappings) > MaxMappings {
		oldest := c.unused.after
		if oldest == &c.unused {
			break
		}
		c.stats.Evicted++
		victims = c.drop(oldest, victims)
	}
	return victims
}

// drop takes a mapping out of the cache. If nobody uses it, it joins the victims, which the caller
// unmaps without the lock: unmapping takes milliseconds for a gigabyte.
func (c *Cache) drop(m, victims *Mapping) *Mapping {
	delete(c.mappings, m.key)
	c.bytes -= m.key.handle.Size
	m.kept = false
	if m.users > 0 {
		return victims
	}
	m.unlink()
	m.after = victims
	return m
}

// forget drops all mappings of a peer.
func (c *Cache) forget(p *Peer) error {
	c.mu.Lock()
	var victims *Mapping
	for k, m := range c.mappings {
		if k.peer == p {
			victims = c.drop(m, victims)
		}
	}
	c.mu.Unlock()
	return unmapAll(victims)
}

func unmapAll(victims *Mapping) error {
	var errs error
	for m := victims; m != nil; m = m.after {
		errs = errors.Join(errs, m.unmap())
	}
	return errs
}
