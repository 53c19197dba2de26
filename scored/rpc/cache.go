package rpc

import (
	"sync"
	"time"
)

const (
	// nameLife is how long an answer of the user database is cached: it may ask a directory
	// service, and answers change rarely.
	nameLife = time.Minute
	// maxKnownNames bounds the memory; a host rarely has more users at once.
	maxKnownNames = 4096
)

// cache remembers answers of the user database.
type cache[T any] struct {
	mu    sync.Mutex
	known map[uint32]cached[T]
}

type cached[T any] struct {
	value T
	till  time.Time
}

func newCache[T any]() *cache[T] { return &cache[T]{known: make(map[uint32]cached[T])} }

func (c *cache[T]) get(uid uint32, now time.Time) (T, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.known[uid]
	return known.value, ok && now.Before(known.till)
}

func (c *cache[T]) put(uid uint32, value T, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) > maxKnownNames {
		clear(c.known)
	}
	c.known[uid] = cached[T]{value, now.Add(nameLife)}
}
