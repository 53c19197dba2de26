package staging

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"score/nodeagent/launch"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// SumBytes is the length of a digest, SHA-256.
const SumBytes = 32

// Errors that callers distinguish; each is wrapped in a sentence for the user.
var (
	ErrAbsent  = errors.New("the file is not here")
	ErrDamaged = errors.New("the file's content does not match its digest")
	ErrFull    = errors.New("there is no room for the file")
	ErrClosed  = errors.New("the agent ends")
	ErrIdle    = fmt.Errorf("no data of the file came for %v; submit the job again", idleWait)
)

// File identifies a file's content: its digest and its length in bytes.
type File struct {
	Sum  [SumBytes]byte
	Size int64
}

// String returns the beginning of the digest, for people.
func (f File) String() string { return hex.EncodeToString(f.Sum[:6]) }

// Fetch writes a file from an offset on. It may be called again for the missing rest.
type Fetch func(ctx context.Context, from int64, to Writer) error

// Writer gets a file's bytes, in order.
type Writer interface{ Write([]byte) (int, error) }

type key struct {
	uid uint32
	sum [SumBytes]byte
}

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

// dirMode lets users reach their own directories, but not list the others.
const dirMode = 0o711

func (c *Cache) openDir() error {
	err := os.MkdirAll(c.dir, dirMode)
	if err == nil {
		err = os.Chmod(c.dir, dirMode) // the process's umask may have cleared bits
	}
	var st unix.Stat_t
	if err == nil {
		err = unix.Lstat(c.dir, &st)
	}
	if err == nil && (st.Mode&unix.S_IFMT != unix.S_IFDIR || int(st.Uid) != os.Geteuid()) {
		err = errors.New("it is not a directory of the agent's own")
	}
	if err != nil {
		return fmt.Errorf("files that are sent along with jobs cannot be kept in %s: %w; name another directory with stage_dir", c.dir, err)
	}
	return nil
}

// Close cancels fetches that are under way and waits for them. The files stay.
func (c *Cache) Close() {
	c.cancel()
	c.fillers.Wait()
}

// userDir returns the directory of a user's files.
func (c *Cache) userDir(uid uint32) string {
	return filepath.Join(c.dir, strconv.FormatUint(uint64(uid), 10))
}

func (c *Cache) path(k key) string {
	return filepath.Join(c.userDir(k.uid), hex.EncodeToString(k.sum[:]))
}

// makeUserDir makes a user's directory and, as root, gives it to the user. The directory may exist
// without having been given: a concurrent call, or an agent that died, may have made it.
func (c *Cache) makeUserDir(u *launch.User) error {
	if err := c.openDir(); err != nil {
		return err
	}
	dir := c.userDir(u.UID)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if os.Geteuid() != 0 {
		return nil
	}
	return os.Lchown(dir, int(u.UID), int(u.GID))
}

// Hold keeps files until the job is released. Further calls add files.
func (c *Cache) Hold(job uint64, u *launch.User, files []File) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range files {
		if k := (key{u.UID, f.Sum}); !slices.Contains(c.held[job], k) {
			c.held[job] = append(c.held[job], k)
		}
	}
}

// Holds reports whether a job holds any file.
func (c *Cache) Holds(job uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.held[job]) > 0
}

// HoldsFile reports whether a job holds a user's file.
func (c *Cache) HoldsFile(job uint64, u *launch.User, f File) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.held[job], key{u.UID, f.Sum})
}

// Release ends a job's holds, if it has any.
func (c *Cache) Release(job uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.held, job)
}

// ReleaseBut ends the holds of all jobs for which keeps is false.
func (c *Cache) ReleaseBut(keeps func(job uint64) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.held, func(job uint64, _ []key) bool { return !keeps(job) })
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

// remove removes the file of a key, ignoring errors.
func (c *Cache) remove(k key) { _ = removeAs(k.uid, c.path(k)) }

// removeAs removes a file with its user's permissions, so that no link in the user's directory
// leads elsewhere. The directory is the user's own, so that groups do not matter.
func removeAs(uid uint32, path string) error {
	return launch.AsUser(&launch.User{UID: uid, GID: uid}, func() error { return os.Remove(path) })
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
