package display

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// patient writes to a file, such as a terminal or a pipe, that other programs share and may make
// non-blocking at any time. ssh and Node.js do so.
type patient struct{ file *os.File }

// Patient returns a writer that waits while a file accepts nothing.
func Patient(w io.Writer) io.Writer {
	if file, ok := w.(*os.File); ok {
		return patient{file}
	}
	return w
}

// Write implements io.Writer.
func (p patient) Write(data []byte) (written int, err error) {
	for {
		n, err := p.file.Write(data[written:])
		written += n
		if !errors.Is(err, unix.EAGAIN) {
			return written, err
		}
		if err := p.wait(); err != nil {
			return written, err
		}
	}
}

// wait returns when the file can be written or has an error.
func (p patient) wait() error {
	raw, err := p.file.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		for {
			_, failed = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, -1)
			if !errors.Is(failed, unix.EINTR) {
				return
			}
		}
	})
	return errors.Join(err, failed)
}
