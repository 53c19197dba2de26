package guest

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// maxFrame is more than an Ethernet frame of guests has.
const maxFrame = 1 << 16

// portBuffer is how many bytes of frames wait at a port. What is more is lost, as in any switch.
const portBuffer = 1 << 20

// Switch is an Ethernet between guests. It floods each frame to all ports: guests are few.
type Switch struct {
	mu    sync.Mutex
	ports []*Port
	work  sync.WaitGroup
}

// Port is where a network device of a guest is plugged in.
type Port struct {
	MAC    string
	of     *Switch
	here   *os.File // the switch's end
	guest  *os.File // the guest's end
	pulled bool     // under the switch's mutex
}

// NewSwitch makes a switch, which is gone when the test ends.
func NewSwitch(t testing.TB) *Switch {
	s := &Switch{}
	t.Cleanup(s.close)
	return s
}

// Port adds a port.
func (s *Switch) Port() (*Port, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("make a port: %w", err)
	}
	for _, fd := range pair {
		// The kernel takes what is allowed; the rest is a shorter queue.
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, portBuffer)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &Port{of: s, here: os.NewFile(uintptr(pair[0]), "port"), guest: os.NewFile(uintptr(pair[1]), "guest's port")}
	p.MAC = fmt.Sprintf("52:54:00:00:00:%02x", len(s.ports)+1)
	s.ports = append(s.ports, p)
	s.work.Go(p.forward)
	return p, nil
}

// Pull takes the cable out: frames in both directions are lost.
func (p *Port) Pull() { p.set(true) }

// Plug puts the cable in again.
func (p *Port) Plug() { p.set(false) }

func (p *Port) set(pulled bool) {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	p.pulled = pulled
}

// forward sends what the guest sends to all others, until the switch is closed.
func (p *Port) forward() {
	frame := make([]byte, maxFrame)
	for {
		n, err := p.here.Read(frame)
		if err != nil {
			return
		}
		p.of.flood(p, frame[:n])
	}
}

func (s *Switch) flood(from *Port, frame []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if from.pulled {
		return
	}
	for _, p := range s.ports {
		if p == from || p.pulled {
			continue
		}
		raw, err := p.here.SyscallConn()
		if err != nil {
			continue
		}
		_ = raw.Write(func(fd uintptr) bool {
			_, _ = unix.Write(int(fd), frame) // a full port loses it
			return true
		})
	}
}

func (s *Switch) close() {
	s.mu.Lock()
	for _, p := range s.ports {
		p.here.Close()
		p.guest.Close()
	}
	s.mu.Unlock()
	s.work.Wait()
}
