package staging

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"score/nodeagent/launch"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// partInfix is part of the names of incomplete files.
	partInfix = ".part-"
	// fileMode is the mode of all files: a user who may read a program may execute it.
	fileMode = 0o500
	// idleWait is how long a fetch may bring no data before it fails: longer than nodes search for
	// another source.
	idleWait = 30 * time.Second
)

// filler writes a new file, and computes its digest.
type filler struct {
	cache *Cache
	entry *entry
	file  *os.File
	as    *launch.Actor // writes with the user's rights, so that disk quotas apply
	sum   hash.Hash
	idle  *time.Timer // fires when no byte has come for idleWait
	room  int64       // the size for which room was made
}

// Write implements io.Writer. It refuses data beyond the file's length.
func (f *filler) Write(data []byte) (int, error) {
	f.entry.mu.Lock()
	have := f.entry.have
	f.entry.mu.Unlock()
	if int64(len(data)) > f.entry.size-have {
		return 0, fmt.Errorf("%w: it is longer", ErrDamaged)
	}
	if !f.idle.Stop() {
		return 0, ErrIdle
	}
	f.idle.Reset(idleWait)
	if lacks := have + int64(len(data)) - f.room; lacks > 0 {
		granted, err := f.cache.grant(f.entry, lacks)
		if err != nil {
			return 0, err
		}
		f.room += granted
	}
	n := 0
	err := f.cache.roomFor(f.entry.key.uid, func() error {
		return f.as.Do(func() error {
			written, err := f.file.Write(data[n:])
			n += written
			return err
		})
	})
	f.sum.Write(data[:n])
	f.entry.grow(n)
	return n, err
}

// roomFor calls write, and while the disk or the user's quota is full removes a file that no job
// needs and calls it again. The error of a full disk wraps ErrFull.
func (c *Cache) roomFor(uid uint32, write func() error) error {
	err := write()
	for c.evict(uid, err) {
		err = write()
	}
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return fmt.Errorf("%w: %s has no space left, though all files that no job needs were removed (%w); make room there",
			ErrFull, c.dir, err)
	}
	return err
}

// fill fetches a file, verifies it, and gives it its name.
func (c *Cache) fill(ctx context.Context, u *launch.User, e *entry, fetch Fetch) error {
	as, err := launch.NewActor(u)
	if err != nil {
		return err
	}
	defer as.Close()
	part, err := c.openPart(u, as, e)
	if err != nil {
		return err
	}
	// The fetch itself may notice only after the last waiting request has gone.
	idle := time.AfterFunc(idleWait, func() {
		c.forget(e)
		e.end(ErrIdle)
	})
	defer idle.Stop()
	f := &filler{cache: c, entry: e, file: part, sum: sha256.New(), idle: idle, as: as}
	whole, err := f.complete(ctx, fetch)
	e.mu.Lock()
	e.file, e.verified = nil, whole
	e.mu.Unlock()
	part.Close()
	if err != nil {
		_ = as.Do(func() error { return os.Remove(part.Name()) }) // a sweep removes what stays
		return err
	}
	e.end(nil)
	return nil
}

// complete fetches the file, verifies it and gives it its name.
func (f *filler) complete(ctx context.Context, fetch Fetch) (whole identity, err error) {
	if err := fetch(ctx, 0, f); err != nil {
		return whole, err
	}
	if err := f.check(); err != nil {
		return whole, err
	}
	if err := ctx.Err(); err != nil {
		return whole, err // nobody waits for the file any more, so nobody would remove it
	}
	if !f.idle.Stop() {
		return whole, ErrIdle
	}
	// The name comes last, in one step: a file with its name is complete.
	if err := f.as.Do(func() error { return os.Rename(f.file.Name(), f.cache.path(f.entry.key)) }); err != nil {
		return whole, err
	}
	return identify(f.file)
}

func (f *filler) check() error {
	f.entry.mu.Lock()
	have := f.entry.have
	f.entry.mu.Unlock()
	if have != f.entry.size {
		return fmt.Errorf("%w: %d of %d bytes came", ErrDamaged, have, f.entry.size)
	}
	if [SumBytes]byte(f.sum.Sum(nil)) != f.entry.key.sum {
		return fmt.Errorf("%w: other bytes came; if something writes to it, try again afterwards", ErrDamaged)
	}
	return nil
}

// openPart makes the file for an incomplete entry.
func (c *Cache) openPart(u *launch.User, as *launch.Actor, e *entry) (file *os.File, err error) {
	if err := c.roomFor(u.UID, func() error { return c.makeUserDir(u) }); err != nil {
		return nil, err
	}
	err = c.roomFor(u.UID, func() error {
		return as.Do(func() (err error) {
			file, err = os.CreateTemp(c.userDir(u.UID), hex.EncodeToString(e.key.sum[:])+partInfix)
			if err == nil {
				err = file.Chmod(fileMode)
			}
			return err
		})
	})
	if errors.Is(err, ErrFull) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("making a file for a job's: %w", err)
	}
	e.mu.Lock()
	e.file = file
	e.mu.Unlock()
	return file, nil
}

func identify(file *os.File) (identity, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return identity{}, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return identity{}, fmt.Errorf("%w: not a regular file", ErrDamaged)
	}
	return identity{st.Dev, st.Ino, st.Size, st.Mtim, st.Ctim}, nil
}

// open opens the complete file of an entry for reading, as its user.
func (c *Cache) open(u *launch.User, e *entry) (file *os.File, err error) {
	err = launch.AsUser(u, func() error {
		fd, err := unix.Open(c.path(e.key), unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err == nil {
			file = os.NewFile(uintptr(fd), c.path(e.key))
		}
		return err
	})
	return file, err
}

// intact reports whether a complete file is unchanged since it was verified. It verifies a file
// that was not verified yet.
func (c *Cache) intact(u *launch.User, e *entry) bool {
	file, err := c.open(u, e)
	if err != nil {
		return false
	}
	defer file.Close()
	now, err := identify(file)
	if err != nil || now.size != e.size {
		return false
	}
	e.mu.Lock()
	verified := e.verified
	e.mu.Unlock()
	if now == verified {
		return true
	}
	sum := sha256.New()
	if n, err := io.Copy(sum, io.LimitReader(file, e.size+1)); err != nil || n != e.size || [SumBytes]byte(sum.Sum(nil)) != e.key.sum {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.verified = now
	return true
}
