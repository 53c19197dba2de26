package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Sweep kills the processes of every slot for which keep is false (all, if keep is nil), and
// removes the slot's group: leftovers of daemons that died. It touches nothing outside this Root,
// and returns the number of removed groups. The slots are swept concurrently, so that a busy slot
// does not use up the time of the others.
func (r *Root) Sweep(deadline time.Time, keep func(slot int) bool) (removed int, err error) {
	slots, err := r.Slots()
	if err != nil {
		return 0, err
	}
	if keep != nil {
		slots = slices.DeleteFunc(slots, keep)
	}
	failed := make([]error, len(slots))
	var sweeps sync.WaitGroup
	for i, n := range slots {
		sweeps.Go(func() { failed[i] = r.SweepSlot(n, deadline) })
	}
	sweeps.Wait()
	for _, err := range failed {
		if err == nil {
			removed++
		}
	}
	return removed, errors.Join(failed...)
}

// SweepSlot kills the processes of one slot and removes its group. Other processes may remove the
// same group meanwhile, as stewards without an agent do. After an error it can be called again.
func (r *Root) SweepSlot(n int, deadline time.Time) error {
	for pause := rmdirPauseMin; ; pause = min(2*pause, rmdirPauseMax) {
		err := r.sweepSlot(n, deadline)
		if !vanished(err) || !time.Now().Before(deadline) {
			return err
		}
		time.Sleep(pause)
	}
}

// vanished reports whether another process has removed the group meanwhile; a v1 or v2 part of it
// may be left.
func vanished(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODEV) }

func (r *Root) sweepSlot(n int, deadline time.Time) error {
	if err := r.killCharged(n); err != nil {
		return err
	}
	g, err := r.Open(n)
	if err == nil {
		defer g.Release() // if it could not be closed
		return g.Close(deadline)
	}
	// A part is missing: a daemon died between two mkdir or two rmdir.
	name, err := slotName(n)
	if err != nil {
		return err
	}
	err = removeTree(filepath.Join(r.dir, name), deadline)
	for _, dir := range r.v1Dirs() {
		err = errors.Join(err, removeTree(filepath.Join(dir, name), deadline))
	}
	return err
}

// killCharged kills processes that have a thread only in the slot's version 1 groups: a steward
// whose agent died before the first message waits there.
func (r *Root) killCharged(n int) error {
	name, err := slotName(n)
	if err != nil {
		return err
	}
	for _, dir := range r.v1Dirs() {
		if err := killMembers(filepath.Join(dir, name)); err != nil && !vanished(err) {
			return err
		}
	}
	return nil
}

// Remove removes the node's group. All slots must be gone. It waits until the deadline for the
// kernel, which may still be releasing the last slot.
func (r *Root) Remove(deadline time.Time) error {
	failed := []error{removeEmpty(r.dir, deadline)}
	for _, dir := range r.v1Dirs() {
		failed = append(failed, removeEmpty(dir, deadline))
	}
	return errors.Join(failed...)
}

// removeEmpty removes a group. It fails at once if there are groups below it.
func removeEmpty(dir string, deadline time.Time) error {
	if dir == "" {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if slices.ContainsFunc(entries, fs.DirEntry.IsDir) {
		return fmt.Errorf("removing %s: %w", dir, unix.EBUSY)
	}
	return removeTree(dir, deadline)
}

// removeTree removes a group with the groups that its processes made below it, deepest first. While
// the last task exits the kernel returns EBUSY and offers no event, so removeTree tries again until
// the deadline.
func removeTree(dir string, deadline time.Time) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if err := removeTree(filepath.Join(dir, e.Name()), deadline); err != nil {
			return err
		}
	}
	pause := rmdirPauseMin
	for {
		err := unix.Rmdir(dir)
		if err == nil || errors.Is(err, unix.ENOENT) {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) || !time.Now().Before(deadline) {
			return fmt.Errorf("removing %s: %w", dir, err)
		}
		time.Sleep(pause)
		pause = min(2*pause, rmdirPauseMax)
	}
}

// An exiting task leaves its group within microseconds, or after its memory was freed: milliseconds
// for gigabytes.
const (
	rmdirPauseMin = 50 * time.Microsecond
	rmdirPauseMax = 5 * time.Millisecond
)
