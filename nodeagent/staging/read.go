package staging

import (
	"context"
	"fmt"
	"os"
	"score/nodeagent/launch"
	"time"
)

const (
	// comeTimeout is how long another node's request waits for a file that is not yet on its way:
	// the orders of a job reach its nodes within milliseconds, except on busy machines.
	comeTimeout = 3 * time.Second
	// readChunk is the number of bytes sent at a time: a few chunks fill a path through the tree.
	readChunk = 256 << 10
)

// Send sends a file from an offset on to another node, as it comes. The error wraps ErrAbsent if it
// is neither here nor on its way.
func (c *Cache) Send(ctx context.Context, u *launch.User, f File, from int64, send func([]byte) error) error {
	k := key{u.UID, f.Sum}
	e := c.await(ctx, k, comeTimeout)
	if e == nil {
		return ErrAbsent
	}
	defer c.releaseEntry(e)
	file, err := c.reader(u, e)
	if err != nil {
		return err
	}
	defer file.Close()
	buffer := make([]byte, readChunk)
	for from < e.size {
		have, err := e.until(ctx, from)
		if err != nil {
			return err
		}
		if from >= have {
			return fmt.Errorf("%w: it has no byte %d", ErrAbsent, from)
		}
		n, err := file.ReadAt(buffer[:min(int64(len(buffer)), have-from)], from)
		if n == 0 {
			return fmt.Errorf("%w: reading it: %w", ErrAbsent, err)
		}
		if err := send(buffer[:n]); err != nil {
			return err
		}
		from += int64(n)
	}
	return nil
}

// reader opens a file, which may be incomplete.
func (c *Cache) reader(u *launch.User, e *entry) (*os.File, error) {
	if !e.isOver() {
		// Before the filler has made the file there is nothing to read; once it is complete it has
		// its name.
		if _, err := e.until(c.ctx, 0); err != nil {
			return nil, err
		}
		e.mu.Lock()
		part := e.file
		if part != nil {
			defer e.mu.Unlock()
			return reopen(part)
		}
		e.mu.Unlock()
	}
	if err := e.wait(c.ctx); err != nil {
		return nil, err
	}
	if !c.intact(u, e) {
		c.drop(e)
		return nil, ErrAbsent
	}
	return c.open(u, e)
}

// reopen returns a new descriptor of the same file, even if its name has changed.
func reopen(file *os.File) (*os.File, error) {
	return os.Open(fmt.Sprintf("/proc/self/fd/%d", file.Fd()))
}
