package node

import (
	"context"
	"os"
	"score/channels/dump"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// dumpPause is the wait before a dump is tried again because something moved, doubled up to
	// dumpLongest: a gang that shares its nodes is off soon, and for some milliseconds.
	dumpPause   = time.Millisecond
	dumpLongest = 32 * time.Millisecond
)

// Dumped is the copy of a context.
type Dumped struct {
	Rank, Channel uint32
	Pages         *dump.Pages
	// Moving: it changed during every try.
	Moving bool
}

// Dump copies the contexts of the wanted ranks as of one instant: it copies them, checks whether
// all are still the same, and tries again if not, for at most patience. After that it marks those
// that moved. The error is dump.ErrTooLarge if the copies take more than limit bytes, the error of
// ctx, or the system's.
func (j *Job) Dump(ctx context.Context, wanted func(rank uint32) bool, limit int64, patience time.Duration) ([]Dumped, error) {
	all, files, err := j.dumpFiles(wanted)
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	if err != nil {
		return nil, err
	}
	late := time.Now().Add(patience)
	for pause := dumpPause; ; pause = min(2*pause, dumpLongest) {
		still, err := collect(all, files, limit)
		if err != nil || still || time.Now().After(late) {
			return all, err
		}
		if err := pauseFor(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// collect copies all contexts and reports whether they are of one instant.
func collect(all []Dumped, files []*os.File, limit int64) (still bool, err error) {
	for i := range all {
		if all[i].Pages, err = dump.Collect(files[i], limit); err != nil {
			return false, err
		}
		limit -= all[i].Pages.Bytes()
	}
	still = true
	for i := range all {
		all[i].Moving = !all[i].Pages.Still(files[i])
		still = still && !all[i].Moving
	}
	return still, nil
}

// dumpFiles are descriptors of the images that nobody else closes.
func (j *Job) dumpFiles(wanted func(uint32) bool) (all []Dumped, files []*os.File, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range j.list() {
		if !wanted(c.rank) {
			continue
		}
		fd, err := unix.FcntlInt(c.img.File().Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return nil, files, os.NewSyscallError("fcntl", err)
		}
		files = append(files, os.NewFile(uintptr(fd), "image"))
		all = append(all, Dumped{Rank: c.rank, Channel: c.channel})
	}
	return all, files, nil
}

func pauseFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
