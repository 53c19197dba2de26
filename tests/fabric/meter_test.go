package fabric

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	// meterBuffer is room for what comes while its reader has no processor, in bytes.
	meterBuffer = 64 << 20
	// headersLength is enough for the headers of a packet up to the ports.
	headersLength = 128
)

// endpoint is a port of an address.
type endpoint struct {
	protocol string
	address  netip.AddrPort
}

// meter counts the packets on all links of a node, in both directions, by their endpoints.
type meter struct {
	file  *os.File
	ended chan struct{} // closed when nobody counts
	mu    sync.Mutex
	count map[endpoint]uint64
}

// meters are the meters of all nodes.
type meters map[string]*meter

// meters begins to count, until the test ends.
func (s *scene) meters() meters {
	s.T.Helper()
	all := make(meters)
	for _, node := range nodes {
		m := &meter{ended: make(chan struct{}), count: make(map[endpoint]uint64)}
		s.Check(s.network.Inside(node, m.open))
		go m.read()
		s.T.Cleanup(func() { m.file.Close(); <-m.ended })
		all[node] = m
	}
	return all
}

// open makes a packet socket: the kernel gives it a copy of each packet, see packet(7).
func (m *meter) open() error {
	every := binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, unix.ETH_P_ALL))
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, int(every))
	if err != nil {
		return fmt.Errorf("packet socket: %w", err)
	}
	m.file = os.NewFile(uintptr(fd), "packets")
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, meterBuffer)
}

func (m *meter) read() {
	defer close(m.ended)
	for packet := make([]byte, headersLength); ; {
		n, err := m.file.Read(packet)
		if errors.Is(err, os.ErrClosed) {
			return
		}
		if err == nil {
			m.add(packet[:n])
		}
	}
}

// add counts an IPv4 packet of UDP or TCP for both of its ports.
func (m *meter) add(packet []byte) {
	if len(packet) < 20 || packet[0]>>4 != 4 {
		return
	}
	protocol := map[byte]string{unix.IPPROTO_TCP: "tcp", unix.IPPROTO_UDP: "udp"}[packet[9]]
	header := int(packet[0]&15) * 4
	if fragment := binary.BigEndian.Uint16(packet[6:]) & 0x1fff; protocol == "" || fragment != 0 || len(packet) < header+4 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range 2 { // source and destination
		address := netip.AddrFrom4([4]byte(packet[12+4*i:]))
		m.count[endpoint{protocol, netip.AddrPortFrom(address, binary.BigEndian.Uint16(packet[header+2*i:]))}]++
	}
}

// endpoints returns the endpoints of a job's sockets, by node. A socket that listens has none: each
// of its connections is a socket, and Open MPI listens even if it never connects.
func (s *scene) endpoints(j *job) map[string]map[endpoint]bool {
	s.T.Helper()
	all := make(map[string]map[endpoint]bool)
	for _, p := range s.ranks(j) {
		if all[p.Node] == nil {
			all[p.Node] = make(map[endpoint]bool)
		}
		for _, socket := range socketsOf(s.T, p) {
			if socket.protocol == "tcp" && socket.state == listening {
				continue
			}
			addresses := []netip.Addr{socket.local.Addr()}
			if addresses[0].IsUnspecified() {
				addresses = []netip.Addr{netip.MustParseAddr(s.network.Address(p.Node)), netip.AddrFrom4([4]byte{127, 0, 0, 1})}
			}
			for _, a := range addresses {
				all[p.Node][endpoint{socket.protocol, netip.AddrPortFrom(a, socket.local.Port())}] = true
			}
		}
	}
	return all
}

// packets counts those that came from, or went to, endpoints.
func (m *meter) packets(of map[endpoint]bool) (sum uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for e := range of {
		sum += m.count[e]
	}
	return sum
}

// sum counts on all nodes.
func (all meters) sum(of map[string]map[endpoint]bool) (sum uint64) {
	for node, m := range all {
		sum += m.packets(of[node])
	}
	return sum
}

// least counts on the node that has the fewest.
func (all meters) least(of map[string]map[endpoint]bool) uint64 {
	lowest := ^uint64(0)
	for node, m := range all {
		lowest = min(lowest, m.packets(of[node]))
	}
	return lowest
}

// lost counts the packets that the meters had no room for, since the call before.
func (all meters) lost(t *testing.T) (lost uint32) {
	t.Helper()
	for _, m := range all {
		raw, err := m.file.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		var stats *unix.TpacketStats
		var failed error
		err = raw.Control(func(fd uintptr) {
			stats, failed = unix.GetsockoptTpacketStats(int(fd), unix.SOL_PACKET, unix.PACKET_STATISTICS)
		})
		if err := errors.Join(err, failed); err != nil {
			t.Fatal(err)
		}
		lost += stats.Drops
	}
	return lost
}
