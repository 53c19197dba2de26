package staging

import (
	"context"
	"os"
	"score/nodeagent/wait"
	"sync"

	"golang.org/x/sys/unix"
)

// entry is a file that is here, or on its way.
type entry struct {
	key  key
	size int64
	over chan struct{} // closed when it is complete, or failed

	// The following fields are guarded by the cache's mu.
	bytes  int64  // counted for it; for an incomplete file those that room was made for
	users  int    // number of callers that wait for it or read it
	used   uint64 // last use, by the cache's clock
	cancel func() // ends the filling

	mu       sync.Mutex
	file     *os.File // while it is filled
	have     int64    // bytes that can be read
	grown    chan struct{}
	err      error
	verified identity // of the file whose digest was right; zero: not verified yet
}

// identity identifies a file and its content: any change of the content changes ctime, which only
// the kernel sets.
type identity struct {
	dev, ino     uint64
	size         int64
	mtime, ctime unix.Timespec
}

func newEntry(k key, size int64) *entry {
	return &entry{key: k, size: size, over: make(chan struct{}), grown: make(chan struct{}), cancel: func() {}}
}

func (e *entry) isOver() bool { return wait.Closed(e.over) }

func (e *entry) failed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err != nil
}

func (e *entry) isWhole() bool { return e.isOver() && !e.failed() }

// grow records n more bytes and wakes readers.
func (e *entry) grow(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.have += int64(n)
	close(e.grown)
	e.grown = make(chan struct{})
}

// end records that the file is complete (nil), or why it never will be. Only the first call counts.
func (e *entry) end(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.isOver() {
		return // it has already ended
	}
	e.err = err
	close(e.grown)
	e.grown = make(chan struct{})
	close(e.over)
}

// wait waits until the file is complete.
func (e *entry) wait(ctx context.Context) error {
	select {
	case <-e.over:
	case <-ctx.Done():
		return ctx.Err()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// until waits for more than n bytes, and returns their number. It returns fewer only with an error
// or at the end of the file.
func (e *entry) until(ctx context.Context, n int64) (int64, error) {
	for {
		e.mu.Lock()
		have, grown, err := e.have, e.grown, e.err
		e.mu.Unlock()
		if err != nil || have > n || have == e.size {
			return have, err
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return have, ctx.Err()
		}
	}
}
