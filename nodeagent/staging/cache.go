package staging

import (
	"context"
	"errors"
	"fmt"
	"os"
	"score/nodeagent/launch"
	"sync"
	"time"
)

// Errors that callers distinguish; each is wrapped in a sentence for the user.
var (
	ErrAbsent  = errors.New("the file is not here")
	ErrDamaged = errors.New("the file's content does not match its digest")
	ErrFull    = errors.New("there is no room for the file")
	ErrClosed  = errors.New("the agent ends")
	ErrIdle    = fmt.Errorf("no data of the file came for %v; submit the job again", idleWait)
)

// Cache is the cache of a node. Its methods may be called concurrently.
type Cache struct {
	dir   string
	limit int64

	ctx     context.Context
	cancel  context.CancelFunc
	fillers sync.WaitGroup

	mu      sync.Mutex
	entries map[key]*entry
	held    map[uint64][]key // by job
	total   int64            // bytes of all entries
	changed chan struct{}    // closed, and replaced, when an entry comes
	clock   uint64           // counts uses
}

// Open opens the directory, making it if needed, and removes incomplete files from it. limit is in
// bytes.
func Open(dir string, limit int64) (*Cache, error) {
	ctx, cancel := context.WithCancel(context.Background())
	c := &Cache{
		dir: dir, limit: limit, ctx: ctx, cancel: cancel,
		entries: make(map[key]*entry), held: make(map[uint64][]key), changed: make(chan struct{}),
	}
	if _, err := os.Lstat(dir); errors.Is(err, os.ErrNotExist) {
		return c, nil // the directory is made for the first file
	}
	if err := c.openDir(); err != nil {
		cancel()
		return nil, err
	}
	c.sweep()
	return c, nil
}

// Close cancels fetches that are under way and waits for them. The files stay.
func (c *Cache) Close() {
	c.cancel()
	c.fillers.Wait()
}

// Get returns the path of a file, for the user's programs. It fetches a missing file, once for all
// callers that wait.
func (c *Cache) Get(ctx context.Context, u *launch.User, f File, fetch Fetch) (string, error) {
	k := key{u.UID, f.Sum}
	for range maxTries {
		e, err := c.want(u, k, f.Size, fetch)
		if err != nil {
			return "", err
		}
		err = e.wait(ctx)
		c.releaseEntry(e)
		if err != nil {
			return "", err
		}
		if e.size == f.Size && c.intact(u, e) {
			return c.path(k), nil
		}
		c.drop(e) // changed by its user, or damaged on the disk: it is fetched again
	}
	return "", fmt.Errorf("%w: it is changed repeatedly", ErrDamaged)
}

// maxTries bounds the fetches of a file in one Get: if the file changes each time, somebody changes
// it on purpose.
const maxTries = 3

// Has reports whether a complete and correct file is here.
func (c *Cache) Has(u *launch.User, f File) bool {
	c.mu.Lock()
	e := c.entries[key{u.UID, f.Sum}]
	c.mu.Unlock()
	if e == nil || !e.isWhole() {
		return false
	}
	if e.size == f.Size && c.intact(u, e) {
		return true
	}
	c.drop(e)
	return false
}

// want returns a file's entry, or a new one that is being filled. The caller returns it with
// releaseEntry.
func (c *Cache) want(u *launch.User, k key, size int64, fetch Fetch) (*entry, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return nil, ErrClosed
	}
	c.clock++
	if e := c.entries[k]; e != nil && !e.failed() {
		e.users++
		e.used = c.clock
		return e, nil
	}
	if err := c.admit(k.uid, size); err != nil {
		return nil, err
	}
	e := newEntry(k, size)
	e.users, e.used = 1, c.clock
	c.add(e)
	ctx, cancel := context.WithCancel(c.ctx)
	e.cancel = cancel
	c.fillers.Go(func() {
		defer cancel()
		if err := c.fill(ctx, u, e, fetch); err != nil {
			c.forget(e)
			e.end(err)
		}
	})
	return e, nil
}

// releaseEntry returns an entry of want. If nobody waits for the file any more, it cancels the
// fetch.
func (c *Cache) releaseEntry(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.users--
	if e.users == 0 && !e.isOver() {
		e.cancel()
		c.forgetLocked(e) // the next request starts again
	}
}

// add adds an entry to the table; the caller holds mu.
func (c *Cache) add(e *entry) {
	c.entries[e.key] = e
	close(c.changed)
	c.changed = make(chan struct{})
}

// forget removes an entry from the table.
func (c *Cache) forget(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgetLocked(e)
}

func (c *Cache) forgetLocked(e *entry) {
	if c.entries[e.key] == e {
		delete(c.entries, e.key)
		c.total -= e.bytes
	}
}

// drop removes a file.
func (c *Cache) drop(e *entry) {
	c.forget(e)
	c.remove(e.key)
}

// await waits until a file is here or on its way. It is for nodes that ask too early.
func (c *Cache) await(ctx context.Context, k key, timeout time.Duration) *entry {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		c.mu.Lock()
		e, changed := c.entries[k], c.changed
		if e != nil && !e.failed() {
			e.users++
			c.clock++
			e.used = c.clock
			c.mu.Unlock()
			return e
		}
		c.mu.Unlock()
		select {
		case <-changed:
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return nil
		case <-c.ctx.Done():
			return nil
		}
	}
}

// Path returns the path of a user's file once it is here.
func (c *Cache) Path(u *launch.User, f File) string { return c.path(key{u.UID, f.Sum}) }
