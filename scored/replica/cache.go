package replica

import (
	"sync"

	"github.com/hashicorp/raft"
)

const (
	// cachedLogs is how many recent entries are cached.
	cachedLogs = 512
	// cachedBytes is the size of the largest entry that is cached: together at most 32 MiB. An
	// entry with long command lines is read from its file, which the kernel caches.
	cachedBytes = 64 << 10
)

// logCache keeps recent entries of a store in memory. It is raft.LogCache with a bound in bytes.
type logCache struct {
	raft.LogStore
	mu     sync.RWMutex
	recent [cachedLogs]*raft.Log // by index modulo cachedLogs
}

var _ raft.MonotonicLogStore = (*logCache)(nil)

// IsMonotonic implements raft.MonotonicLogStore.
func (c *logCache) IsMonotonic() bool {
	store, ok := c.LogStore.(raft.MonotonicLogStore)
	return ok && store.IsMonotonic()
}

// GetLog implements raft.LogStore.
func (c *logCache) GetLog(index uint64, log *raft.Log) error {
	c.mu.RLock()
	cached := c.recent[index%cachedLogs]
	c.mu.RUnlock()
	if cached != nil && cached.Index == index {
		*log = *cached
		return nil
	}
	return c.LogStore.GetLog(index, log)
}

// StoreLog implements raft.LogStore.
func (c *logCache) StoreLog(log *raft.Log) error { return c.StoreLogs([]*raft.Log{log}) }

// StoreLogs implements raft.LogStore.
func (c *logCache) StoreLogs(logs []*raft.Log) error {
	if err := c.LogStore.StoreLogs(logs); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, log := range logs {
		kept := log
		if len(log.Data) > cachedBytes {
			kept = nil
		}
		c.recent[log.Index%cachedLogs] = kept
	}
	return nil
}

// DeleteRange implements raft.LogStore.
func (c *logCache) DeleteRange(first, last uint64) error {
	c.mu.Lock()
	c.recent = [cachedLogs]*raft.Log{}
	c.mu.Unlock()
	return c.LogStore.DeleteRange(first, last)
}
