// Package ports gives tests ports of loopback that are theirs until their process ends, also while
// nobody listens there: between the choice and the daemon's start, and while a daemon is started
// again. A port that the kernel chose and that was closed again may be anybody's by then.
package ports

import (
	"errors"
	"net"
	"score/tests/await"
	"strconv"
	"sync"
)

const (
	// first and last are below the range from which the kernel gives ports (32768 on).
	first, last = 12000, 32000
	// blockSize is what a process takes at once: a package's tests need a few of them.
	blockSize = 50
	loopback  = "127.0.0.1"
)

// ErrNone means that other tests have all ports.
var ErrNone = errors.New("there are not enough free ports")

// block is the part of the range that the process takes from at present. Its sign is an abstract
// Unix socket, which the kernel takes back when the process ends, however it does.
var block struct {
	sync.Mutex
	next, end int
	signs     []net.Listener
}

// Free returns n ports that are free by TCP and UDP. The error is ErrNone.
func Free(n int) (free []int, err error) {
	block.Lock()
	defer block.Unlock()
	for len(free) < n {
		if block.next == block.end && !takeBlock() {
			return nil, ErrNone
		}
		if isFree(block.next) {
			free = append(free, block.next)
		}
		block.next++
	}
	return free, nil
}

// Address is a free port's, as host:port, for a test.
func Address(t await.Test) string {
	t.Helper()
	free, err := Free(1)
	if err != nil {
		t.Fatal(err)
	}
	return Join(free[0])
}

// Join makes the address of a port.
func Join(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

// takeBlock takes the first block that no process has.
func takeBlock() bool {
	for begin := first; begin < last; begin += blockSize {
		sign, err := net.Listen("unix", "@score-test-ports-"+strconv.Itoa(begin))
		if err != nil {
			continue
		}
		block.signs = append(block.signs, sign)
		block.next, block.end = begin, begin+blockSize
		return true
	}
	return false
}

// isFree looks whether a program that knows nothing of blocks has the port.
func isFree(port int) bool {
	tcp, err := net.Listen("tcp", Join(port))
	if err != nil {
		return false
	}
	defer tcp.Close()
	udp, err := net.ListenPacket("udp", Join(port))
	if err != nil {
		return false
	}
	_ = udp.Close() // nothing was sent
	return true
}
