// Package deadfs mounts file systems that do not answer, as those of a dead file server, for tests:
// who waits for one cannot even be killed.
package deadfs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// Dir mounts a file system over a directory that answers nothing but the kernel's greeting. revive
// takes it away, which ends what waits for it, at the latest at the end of the test. Where nobody
// can mount one, the test is skipped.
func Dir(t *testing.T, dir string) (revive func()) {
	t.Helper()
	return mount(t, dir, unix.S_IFDIR|0o777)
}

// File is like Dir, for a file of one page that can be opened and mapped, but whose bytes never
// come.
func File(t *testing.T, path string) (revive func()) {
	t.Helper()
	return mount(t, path, unix.S_IFREG|0o644)
}

func mount(t *testing.T, path string, mode uint32) (revive func()) {
	t.Helper()
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skip("this host lets nobody make file systems: ", err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=%o,user_id=0,group_id=0,allow_other", fd, mode)
	if err := unix.Mount("dead", path, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		unix.Close(fd)
		t.Skip("this host lets nobody make file systems: ", err)
	}
	var served sync.WaitGroup
	served.Go(func() { serve(fd, mode) })
	revive = sync.OnceFunc(func() {
		// A forced unmount aborts what waits.
		_ = unix.Unmount(path, unix.MNT_FORCE)
		_ = unix.Unmount(path, unix.MNT_DETACH)
		served.Wait()
		unix.Close(fd)
	})
	t.Cleanup(revive)
	return revive
}

// The part of linux/fuse.h that is spoken here.
const (
	opGetattr, opOpen, opFlush, opInit = 3, 14, 25, 26
	major, minor                       = 7, 31
	// Lengths, in bytes.
	header, initBody, attrBody = 16, 64, 104
)

// serve answers until the file system is unmounted.
func serve(fd int, mode uint32) {
	request := make([]byte, 1<<20)
	for {
		n, err := unix.Read(fd, request)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.ENOENT):
		case err != nil:
			return
		case n >= header:
			if answer := answerTo(request, mode); answer != nil {
				binary.NativeEndian.PutUint32(answer, uint32(len(answer)))
				copy(answer[8:header], request[8:header]) // the request's number
				_, _ = unix.Write(fd, answer)             // it fails only if it is unmounted
			}
		}
	}
}

// answerTo returns the answer to a request, nil if there is none.
func answerTo(request []byte, mode uint32) []byte {
	native := binary.NativeEndian
	operation := native.Uint32(request[4:])
	isFile := mode&unix.S_IFMT == unix.S_IFREG
	switch {
	case operation == opInit:
		answer := make([]byte, header+initBody)
		native.PutUint32(answer[header:], major)
		native.PutUint32(answer[header+4:], minor)
		return answer
	case isFile && operation == opGetattr:
		answer := make([]byte, header+attrBody)
		attr := answer[header+16:] // after the time for which it is valid
		native.PutUint64(attr, 1)  // the number of the root
		native.PutUint64(attr[8:], uint64(os.Getpagesize()))
		native.PutUint32(attr[60:], mode)
		native.PutUint32(attr[64:], 1) // names
		return answer
	case isFile && (operation == opOpen || operation == opFlush):
		answer := make([]byte, header)
		refused := -int32(unix.ENOSYS) // files need no opening and no closing
		native.PutUint32(answer[4:], uint32(refused))
		return answer
	default:
		return nil
	}
}
