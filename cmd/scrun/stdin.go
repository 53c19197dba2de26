package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"score/scored/api"
	"score/scored/api/scorev1"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// inputChunk is how much input is read and sent at a time.
	inputChunk = api.MaxStreamData

	// foregroundCheck is the interval at which a scrun in the background checks whether it has the
	// terminal again. The shell sends SIGCONT only to a stopped scrun, so there is no event to wait
	// for.
	foregroundCheck = 500 * time.Millisecond
)

// receiver gets what a pump reads.
type receiver interface {
	// receive takes input. It may block, so that a job that does not read slows its source down. An
	// error ends the pump.
	receive(*scorev1.Stdin) error
	// onFailed is called before the end of an input that cannot be read further.
	onFailed(error)
	// onEscape is called when the user has typed the escape sequence.
	onEscape()
}

// pump reads a file until the file ends, the receiver fails, or Stop.
type pump struct {
	file   *os.File
	to     receiver
	wake   int // eventfd that interrupts a wait
	done   chan struct{}
	isTerm bool
	// escapes finds a terminal's escape sequences; nil: there are none.
	escapes *escapes

	stopping atomic.Bool
	resized  atomic.Bool // the terminal's size must be sent
}

// startPump starts to read a file. If escapes is not nil, it takes escape sequences out.
func startPump(file *os.File, to receiver, escapes *escapes) (*pump, error) {
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("cannot watch the input: %w", err)
	}
	_, err = unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
	if err == nil {
		// A read from the background shall fail instead of stopping scrun, and
		// the ranks' output with it.
		signal.Ignore(unix.SIGTTIN)
	}
	p := &pump{file: file, to: to, wake: wake, done: make(chan struct{}), isTerm: err == nil, escapes: escapes}
	go p.run()
	return p, nil
}

// Stop ends the pump and waits for it. The receiver must not block any more.
func (p *pump) Stop() {
	p.stopping.Store(true)
	p.interrupt()
	<-p.done
	unix.Close(p.wake)
}

// interrupt ends a wait.
func (p *pump) interrupt() { _, _ = unix.Write(p.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0}) }

// followSize sends the terminal's size after each change, until stop is called.
func (p *pump) followSize() (stop func()) {
	changes := make(chan os.Signal, 1)
	signal.Notify(changes, unix.SIGWINCH)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range changes {
			p.resized.Store(true)
			p.interrupt()
		}
	}()
	return func() {
		signal.Stop(changes)
		close(changes)
		<-ended
	}
}

func (p *pump) run() {
	defer close(p.done)
	buffer := make([]byte, inputChunk)
	for p.ready() {
		if p.resized.Swap(false) {
			if p.to.receive(&scorev1.Stdin{Resize: terminalSize(p.file)}) != nil {
				return
			}
			continue
		}
		n, err := unix.Read(int(p.file.Fd()), buffer)
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) {
			continue
		}
		if p.isTerm && errors.Is(err, unix.EIO) {
			continue // scrun went to the background between the check and the read
		}
		if err != nil {
			p.to.onFailed(&os.PathError{Op: "read", Path: p.file.Name(), Err: err})
		}
		if err != nil || n == 0 {
			_ = p.to.receive(&scorev1.Stdin{Eof: true}) // without a receiver no end is needed
			return
		}
		if err := p.pass(buffer[:n]); err != nil {
			return
		}
	}
}

// pass sends what was read, without a terminal's escape sequences.
func (p *pump) pass(data []byte) error {
	if p.escapes == nil {
		return p.to.receive(&scorev1.Stdin{Data: data})
	}
	input, end := p.escapes.feed(data)
	if end {
		p.to.onEscape()
	}
	if len(input) == 0 {
		return nil
	}
	return p.to.receive(&scorev1.Stdin{Data: input})
}

// ready waits until there is something to read or to send; false means Stop. A process in the
// background must not read the terminal, so it waits for the foreground. While it waits for input,
// it checks whether it is still in the foreground.
func (p *pump) ready() bool {
	limit := -1
	if p.isTerm {
		limit = int(foregroundCheck.Milliseconds())
	}
	for {
		watched := p.file
		if p.isTerm && !p.inForeground() {
			watched = nil
		}
		readable := p.wait(watched, limit)
		if p.stopping.Load() {
			return false
		}
		if readable || p.resized.Load() {
			return true
		}
	}
}

// wait polls for interrupt and, unless nil, for the file to be readable, at most limit milliseconds
// (negative: for ever).
func (p *pump) wait(file *os.File, limit int) (readable bool) {
	fds := []unix.PollFd{{Fd: int32(p.wake), Events: unix.POLLIN}}
	if file != nil {
		fds = append(fds, unix.PollFd{Fd: int32(file.Fd()), Events: unix.POLLIN})
	}
	if _, err := unix.Poll(fds, limit); err != nil {
		return false // interrupted: check again
	}
	if fds[0].Revents != 0 {
		_, _ = unix.Read(p.wake, make([]byte, 8)) // reset for the next wait
	}
	return file != nil && fds[1].Revents != 0
}

// inForeground reports whether this process group may read the terminal. A terminal that is not the
// controlling one has no foreground group: it can be read.
func (p *pump) inForeground() bool {
	foreground, err := isForegroundOf(p.file)
	return errors.Is(err, unix.ENOTTY) || err == nil && foreground
}

// inputFile opens the file of -i.
func inputFile(path string) (*os.File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the input: %w", err)
	}
	if info, err := file.Stat(); err != nil || info.IsDir() {
		file.Close()
		return nil, fmt.Errorf("cannot read the input: %s is a directory", path)
	}
	return file, nil
}

// isNull reports whether a file is /dev/null, which has no input to forward.
func isNull(file *os.File) bool {
	var info unix.Stat_t
	err := unix.Fstat(int(file.Fd()), &info)
	return err == nil && info.Mode&unix.S_IFMT == unix.S_IFCHR && info.Rdev == nullDevice
}

// nullDevice is the number of /dev/null in Linux's list of devices.
var nullDevice = unix.Mkdev(1, 3)
