package staging

import (
	"context"
	"fmt"
	"os"
	"score/nodeagent/launch"
	"time"
)

const (
	// comeTimeout is how long another node's request waits for a file that is not on its way here
	// yet: the orders of one job reach its nodes within milliseconds, except on busy machines.
	comeTimeout = 3 * time.Second
	// readChunk is how much is passed on at a time: a few of them fill the way through a tree.
	readChunk = 256 << 10
)

// Send passes a file from an offset on to another node, as it comes. The error wraps ErrAbsent if
// it is not here and not on its way.
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

// reader opens a file, whole or not.
func (c *Cache) reader(u *launch.User, e *entry) (*os.File, error) {
	if !e.isOver() {
		// Until the filler has made it there is nothing to read, and when it is whole it has its
		// name.
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

// reopen returns a descriptor of the same file, whatever becomes of its name.
func reopen(file *os.File) (*os.File, error) {
	return os.Open(fmt.Sprintf("/proc/self/fd/%d", file.Fd()))
}
