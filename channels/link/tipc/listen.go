package tipc

import (
	"errors"
	"fmt"
	"os"
	"score/channels/link"
	"score/channels/link/mmsg"

	"golang.org/x/sys/unix"
)

// DefaultType is the type of a cluster's names, unless its configuration says another.
const DefaultType = 18888

// Types of names. Those below are the kernel's own.
const (
	MinType = unix.TIPC_RESERVED_TYPES
	MaxType = 1<<32 - 1
)

// Errors of the package.
var (
	// ErrKernel: the kernel does not have TIPC.
	ErrKernel = errors.New(`the kernel has no TIPC: load it as with "systemctl enable --now score-tipc@eth0" or "modprobe tipc", or set agent.link = "udp"`)
	// ErrSocket means that a descriptor is not a TIPC socket for datagrams.
	ErrSocket = errors.New("tipc: not a TIPC socket for datagrams")
)

// queueBytes is what the socket's queue may hold, as with UDP: the bursts of many peers that send a
// window each while the receiver is not looking.
const queueBytes = 4 << 20

// Listen opens a socket, and binds it to the name unless that is none. Other nodes see the name
// until the last descriptor of the socket is closed, for whatever reason.
//
// The descriptor is a blocking one, as in package udp.
func Listen(name link.Address) (*os.File, error) {
	fd, err := open(unix.SOCK_RDM)
	if err != nil {
		return nil, err
	}
	mmsg.Enlarge(fd, unix.SO_RCVBUFFORCE, unix.SO_RCVBUF, queueBytes)
	file := os.NewFile(uintptr(fd), "tipc "+name.String())
	if name.None() {
		return file, nil
	}
	if err := Publish(fd, name); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// open opens a TIPC socket.
func open(kind int) (int, error) {
	fd, err := unix.Socket(unix.AF_TIPC, kind|unix.SOCK_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.EAFNOSUPPORT):
		return -1, ErrKernel
	case err != nil:
		return -1, fmt.Errorf("tipc: cannot open a socket: %w", err)
	}
	return fd, nil
}

// Check reports why this system has no TIPC: ErrKernel, or another reason of the system's.
func Check() error {
	fd, err := open(unix.SOCK_RDM)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// Publish binds a socket to one more name.
func Publish(fd int, name link.Address) error {
	if err := bind(fd, name); err != nil {
		return fmt.Errorf("tipc: cannot bind the name %v: %w", name, err)
	}
	return nil
}

// Withdraw removes a name from a socket.
func Withdraw(fd int, name link.Address) error {
	if err := unbind(fd, name); err != nil {
		return fmt.Errorf("tipc: cannot give the name %v up: %w", name, err)
	}
	return nil
}
