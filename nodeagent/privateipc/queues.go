package privateipc

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// queues is the file system of the POSIX message queues of a namespace.
type queues struct {
	shown bool // it is mounted at place, as the host's
	root  int  // a descriptor of its mount, which also tells of queues where it is not shown
	empty int64
}

// mount makes a mount for the namespace of the calling thread.
func (q *queues) mount() error {
	context, err := unix.Fsopen("mqueue", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return mountError(err)
	}
	defer unix.Close(context)
	if err := unix.FsconfigCreate(context); err != nil {
		return mountError(err)
	}
	const attributes = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC
	if q.root, err = unix.Fsmount(context, unix.FSMOUNT_CLOEXEC, attributes); err != nil {
		return mountError(err)
	}
	if q.empty, err = q.size(); err == nil && q.shown {
		err = unix.MoveMount(q.root, "", unix.AT_FDCWD, place, unix.MOVE_MOUNT_F_EMPTY_PATH)
	}
	if err != nil {
		q.close()
		return mountError(err)
	}
	return nil
}

func mountError(err error) error { return fmt.Errorf("mounting a %s for jobs: %w", place, err) }

// size returns the size of the directory, which grows with each queue.
func (q *queues) size() (int64, error) {
	var dir unix.Stat_t
	err := unix.Fstat(q.root, &dir)
	return dir.Size, err
}

func (q *queues) used() (bool, error) {
	size, err := q.size()
	if err != nil {
		return false, lookError(err)
	}
	return size != q.empty, nil
}

// unmount undoes mount. The mount is detached, since somebody outside may look into it.
func (q *queues) unmount() error {
	defer q.close()
	if !q.shown {
		return nil
	}
	if err := unix.Unmount(place, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmounting the %s of a job: %w", place, err)
	}
	return nil
}

func (q *queues) close() { unix.Close(q.root) }
