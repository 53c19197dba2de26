package realtime

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// ErrClosed means that the Sleeper is closed.
var ErrClosed = errors.New("sleeper is closed")

// Sleeper sleeps until an instant or a Wake. One goroutine sleeps; any may wake.
type Sleeper struct {
	// poll is the timer (a timerfd on CLOCK_MONOTONIC) and the wake-up (an eventfd).
	poll  [2]unix.PollFd
	count [8]byte // read from the eventfd

	mu     sync.RWMutex // held for reading by all users of the descriptors except the sleeping goroutine
	closed bool
}

const (
	timer = iota
	wake
)

// one is written to an eventfd to increase its counter. The amount depends on the byte order and
// does not matter.
var one = []byte{1, 0, 0, 0, 0, 0, 0, 0}

// NewSleeper makes a Sleeper with two descriptors, which Close closes.
func NewSleeper() (*Sleeper, error) {
	timerFD, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("making a timer: %w", err)
	}
	wakeFD, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		unix.Close(timerFD)
		return nil, fmt.Errorf("making a wake-up: %w", err)
	}
	s := &Sleeper{}
	s.poll[timer] = unix.PollFd{Fd: int32(timerFD), Events: unix.POLLIN}
	s.poll[wake] = unix.PollFd{Fd: int32(wakeFD), Events: unix.POLLIN}
	return s, nil
}

// Until sleeps until the instant, in nanoseconds of Now, and returns how late it woke. It returns
// at once if the instant has passed, and early, with woken true, if Wake was called during the
// sleep or since the last one. It allocates nothing.
func (s *Sleeper) Until(instant int64) (late time.Duration, woken bool, err error) {
	// A timer of zero would be disarmed; instants before boot have passed anyway.
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(instant, 1))}
	if err := unix.TimerfdSettime(int(s.poll[timer].Fd), unix.TFD_TIMER_ABSTIME, &spec, nil); err != nil {
		return 0, false, fmt.Errorf("setting the timer: %w", err)
	}
	return s.sleep(instant)
}

// Forever sleeps until Wake is called.
func (s *Sleeper) Forever() error {
	if err := unix.TimerfdSettime(int(s.poll[timer].Fd), 0, &unix.ItimerSpec{}, nil); err != nil {
		return fmt.Errorf("stopping the timer: %w", err)
	}
	_, _, err := s.sleep(0)
	return err
}

func (s *Sleeper) sleep(instant int64) (late time.Duration, woken bool, err error) {
	for {
		_, err := unix.Ppoll(s.poll[:], nil, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return 0, false, fmt.Errorf("sleeping: %w", err)
		}
		late = time.Duration(Now() - instant)
		if s.poll[wake].Revents == 0 {
			return late, false, nil
		}
		// EAGAIN is impossible: there is one reader, and the counter is not zero.
		if _, err := unix.Read(int(s.poll[wake].Fd), s.count[:]); err != nil {
			return 0, false, fmt.Errorf("taking the wake-up: %w", err)
		}
		return late, true, nil
	}
}

// Wake ends the present sleep or, if there is none, the next one. Several calls count as one.
func (s *Sleeper) Wake() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return ErrClosed
	}
	_, err := unix.Write(int(s.poll[wake].Fd), one)
	if err != nil && !errors.Is(err, unix.EAGAIN) { // a full counter wakes as well
		return fmt.Errorf("waking: %w", err)
	}
	return nil
}

// Close closes the descriptors. The sleeping goroutine must have ended.
func (s *Sleeper) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	unix.Close(int(s.poll[timer].Fd))
	unix.Close(int(s.poll[wake].Fd))
}
