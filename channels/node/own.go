package node

import (
	"os"

	"golang.org/x/sys/unix"
)

// Inodes returns the inodes of the images and sockets of the job's contexts here. By them the
// kernel names what a process waits for.
func (j *Job) Inodes() (images, sockets map[uint64]bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	images, sockets = map[uint64]bool{}, map[uint64]bool{}
	if j.closed {
		return images, sockets
	}
	for _, c := range j.contexts {
		addInode(images, c.img.File())
		addInode(sockets, c.socket)
	}
	return images, sockets
}

// addInode adds the inode of a file, if it is open.
func addInode(inodes map[uint64]bool, file *os.File) {
	if file == nil {
		return
	}
	raw, err := file.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { // fails only if the file is closed
		var stat unix.Stat_t
		if unix.Fstat(int(fd), &stat) == nil {
			inodes[stat.Ino] = true
		}
	})
}
