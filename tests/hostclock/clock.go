package hostclock

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// errStep means that an offset is no number of whole seconds.
var errStep = errors.New("clocks are stepped by whole seconds")

// Clock is the time of day of a host. Its methods may be called at once.
type Clock struct {
	mu      sync.Mutex
	seconds int64 // ahead of the machine's
	running []process
	err     error // the first that a supervisor had

	stop        [2]int // a pipe: its end ends the supervisors
	supervising sync.WaitGroup
	once        sync.Once
}

// process is a process that has the clock.
type process struct {
	memory *os.File
	at     int64 // of the offset
}

// New makes a clock that shows the machine's time.
func New() (*Clock, error) {
	c := new(Clock)
	if err := unix.Pipe2(c.stop[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	return c, nil
}

// Step sets the clock forward, or back, by whole seconds, for all that runs on the host and all
// that will.
func (c *Clock) Step(by time.Duration) error {
	if by%time.Second != 0 {
		return fmt.Errorf("%w: %v", errStep, by)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seconds += int64(by / time.Second)
	c.show()
	return c.err
}

// show gives the offset to all processes that run, and forgets those that have ended.
func (c *Clock) show() {
	left := c.running[:0]
	for _, p := range c.running {
		if p.set(c.seconds) != nil {
			p.memory.Close()
			continue
		}
		left = append(left, p)
	}
	c.running = left
}

// Offset returns how far the clock is ahead of the machine's.
func (c *Clock) Offset() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Duration(c.seconds) * time.Second
}

// Now is what the clock shows.
func (c *Clock) Now() time.Time { return time.Now().Round(0).Add(c.Offset()) }

// Close ends the supervisors. What was started must have ended: where it begins another program,
// that would fail.
func (c *Clock) Close() error {
	c.once.Do(func() {
		unix.Close(c.stop[1])
		c.supervising.Wait()
		unix.Close(c.stop[0])
		for _, p := range c.running {
			p.memory.Close()
		}
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// adopt gives a process that has just begun the clock.
func (c *Clock) adopt(pid uint32) error {
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	p, err := c.install(pid, memory)
	if err != nil {
		memory.Close()
		if errors.Is(err, errDiverted) {
			return nil
		}
		return err
	}
	c.show()
	c.running = append(c.running, p)
	return nil
}

func (c *Clock) install(pid uint32, memory *os.File) (p process, err error) {
	v, err := findVDSO(pid, memory)
	if err != nil {
		return p, err
	}
	at, err := v.divert(c.seconds)
	if err != nil {
		return p, err
	}
	_, err = memory.WriteAt(v.image, v.base)
	return process{memory: memory, at: v.base + int64(at)}, err
}

// set writes the offset: eight bytes on one cache line, which who reads sees whole.
func (p process) set(seconds int64) error {
	var text [8]byte
	binary.LittleEndian.PutUint64(text[:], uint64(seconds))
	_, err := p.memory.WriteAt(text[:], p.at)
	return err
}
