package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"score/channels/link/tipc"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// manySockets is how many connections the paper made, and how many sockets are open at once.
	manySockets = 100_000
	// manyPieces is how many pieces the connections are made in, in turn with TCP's.
	manyPieces = 20
	// manyConnectTime bounds the connections on a slow machine.
	manyConnectTime = 8 * time.Minute
	// manyOther is how many descriptors the process has besides.
	manyOther = 1000
	// manyFirst are the sockets by which the time for few is known, and lookups of names.
	manyFirst = 1000
	// manyTimeout bounds the wait for the events of all names.
	manyTimeout = 5 * time.Minute
)

// tipcMany has as many sockets open at once as the paper made connections, each with a name as far
// as the kernel permits, and makes as many connections.
func tipcMany(ctx context.Context, b *bench) error {
	limit := unix.Rlimit{Cur: manySockets + manyOther, Max: manySockets + manyOther}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("%d descriptors: %w", limit.Max, err)
	}
	m := &manyNames{b: b}
	if err := errors.Join(m.measure(), m.close()); err != nil {
		return err
	}
	return manyConnects(ctx, b)
}

// manyConnects makes connections of TIPC and TCP in turn, as many as there is time for.
func manyConnects(ctx context.Context, b *bench) error {
	run := socketRun{mode: modeConnect, size: tipcConnectSizes[0], count: manySockets / manyPieces}
	var each [2][]float64
	for start := time.Now(); len(each[0]) < manyPieces && time.Since(start) < manyConnectTime; {
		for i, kind := range []socketKind{tipcStream, tcpSocket} {
			run.kind = kind
			took, _, err := run.measure(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", kind, err)
			}
			each[i] = append(each[i], float64(took.Microseconds())/float64(run.count))
		}
	}
	b.pairWithSpread(fmt.Sprintf("tipc.connect-64-of-%d", len(each[0])*run.count), each[0], each[1], "us", atMost("ratio", tipcConnectTarget))
	return nil
}

// manyNames are sockets, the first of which have names.
type manyNames struct {
	b     *bench
	fds   []int
	names int
}

func (m *manyNames) measure() error {
	if err := m.open(); err != nil {
		return err
	}
	if err := m.bind(manyFirst); err != nil {
		return err
	}
	few, err := m.lookUp()
	if err != nil {
		return err
	}
	if err := m.bind(manySockets); err != nil {
		return err
	}
	many, err := m.lookUp()
	if err != nil {
		return err
	}
	m.b.pair(fmt.Sprintf("tipc.lookup-of-%d", m.names), []float64{many}, []float64{few}, "us", noTarget())
	return m.list()
}

// open opens the sockets.
func (m *manyNames) open() error {
	return m.each("open", manySockets, func() error {
		fd, err := unix.Socket(unix.AF_TIPC, unix.SOCK_RDM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			return os.NewSyscallError("socket", err)
		}
		m.fds = append(m.fds, fd)
		return nil
	})
}

// each does something count times, and reports time and memory of one.
func (m *manyNames) each(what string, count int, do func() error) error {
	before, err := freeKiB()
	if err != nil {
		return err
	}
	start, done := time.Now(), 0
	for range count {
		if err := do(); errors.Is(err, errManyFull) {
			break
		} else if err != nil {
			return err
		}
		done++
	}
	took := time.Since(start)
	after, err := freeKiB()
	if err != nil || done == 0 {
		return errors.Join(err, fmt.Errorf("%s: %d were done", what, done))
	}
	name := fmt.Sprintf("tipc.%s-%d", what, done)
	m.b.single(name, float64(took.Microseconds())/float64(done), "us", noTarget())
	m.b.single(name+"-memory", float64(before-after)/float64(done), "KiB", noTarget())
	return nil
}

// errManyFull means that the kernel takes no more names.
var errManyFull = errors.New("the kernel takes no more names")

// bind gives the next sockets names, up to a number, until the kernel takes no more.
func (m *manyNames) bind(upTo int) error {
	err := m.each("bind", upTo-m.names, func() error {
		err := unix.Bind(m.fds[m.names], manyName(m.names))
		if err != nil && m.names > manyFirst {
			m.b.note("after %d names: bind: %v", m.names, err)
			return errManyFull
		}
		m.names++
		return os.NewSyscallError("bind", err)
	})
	return err
}

func manyName(i int) *unix.SockaddrTIPC {
	at := uint32(i)
	return &unix.SockaddrTIPC{Scope: unix.TIPC_CLUSTER_SCOPE, Addr: &unix.TIPCServiceRange{Type: socketType, Lower: at, Upper: at}}
}

// lookUp sends a datagram to each of some names, and returns the microseconds that one takes.
func (m *manyNames) lookUp() (float64, error) {
	var data [8]byte
	start := time.Now()
	for i := range manyFirst {
		at := i * m.names / manyFirst
		to := &unix.SockaddrTIPC{Scope: unix.TIPC_CLUSTER_SCOPE, Addr: &unix.TIPCServiceName{Type: socketType, Instance: uint32(at)}}
		if err := unix.Sendto(m.fds[0], data[:], 0, to); err != nil {
			return 0, os.NewSyscallError("sendto", err)
		}
		if _, err := unix.Read(m.fds[at], data[:]); err != nil {
			return 0, os.NewSyscallError("read", err)
		}
	}
	return float64(time.Since(start).Microseconds()) / manyFirst, nil
}

// list subscribes to all names, and reports how long their list takes.
func (m *manyNames) list() error {
	watcher, err := tipc.Watch()
	if err != nil {
		return err
	}
	defer func() { _ = watcher.Close() }() // all has been read
	start := time.Now()
	if err := watcher.Subscribe(tipc.Range{Kind: socketType, First: 0, Last: manySockets}, 0); err != nil {
		return err
	}
	for seen := 0; seen < m.names; {
		_, ok, err := watcher.Next()
		switch {
		case err != nil:
			return fmt.Errorf("after %d names: %w", seen, err)
		case ok:
			seen++
		case time.Since(start) > manyTimeout:
			return fmt.Errorf("of %d names %d are listed", m.names, seen)
		default:
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(watcher.Descriptor()), Events: unix.POLLIN}}, 1000) // an error is Next's, too
		}
	}
	m.b.single(fmt.Sprintf("tipc.list-of-%d", m.names), float64(time.Since(start).Milliseconds()), "ms", noTarget())
	return nil
}

// close closes the sockets, and reports how long one takes.
func (m *manyNames) close() error {
	start := time.Now()
	for _, fd := range m.fds {
		if err := unix.Close(fd); err != nil {
			return os.NewSyscallError("close", err)
		}
	}
	if len(m.fds) == manySockets {
		m.b.single(fmt.Sprintf("tipc.close-%d", manySockets), float64(time.Since(start).Microseconds())/manySockets, "us", noTarget())
	}
	return nil
}

// freeKiB is the memory that this host's kernel has left.
func freeKiB() (int, error) {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "MemAvailable:" {
			return strconv.Atoi(words[1])
		}
	}
	return 0, errors.New("/proc/meminfo has no MemAvailable")
}
