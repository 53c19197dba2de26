package fabric

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"score/tests/daemons"
	"strconv"
	"strings"
	"testing"
)

// socket is one of a process, as the kernel's tables show it.
type socket struct {
	protocol      string // tcp or udp
	local, remote netip.AddrPort
	node          string
	state         string // of TCP
}

// tables are the kernel's, in which a process sees the sockets of its network.
var tables = []string{"tcp", "tcp6", "udp", "udp6"}

// Fields of a line of a table, see proc_pid_net(5).
const (
	localField, remoteField, stateField, inodeField = 1, 2, 3, 9
	established, listening                          = "01", "0A"
)

// socketsOf returns the sockets that a process has descriptors of.
func socketsOf(t *testing.T, p daemons.Process) (found []socket) {
	t.Helper()
	dir := filepath.Join("/proc", fmt.Sprint(p.PID))
	mine := make(map[string]bool)
	descriptors, err := os.ReadDir(filepath.Join(dir, "fd"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range descriptors {
		if link, err := os.Readlink(filepath.Join(dir, "fd", d.Name())); err == nil { // else it is closed
			mine[link] = true
		}
	}
	for _, table := range tables {
		text, err := os.ReadFile(filepath.Join(dir, "net", table))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			if len(f) <= inodeField || !mine["socket:["+f[inodeField]+"]"] {
				continue
			}
			found = append(found, socket{
				protocol: table[:len("tcp")], local: parse(t, f[localField]), remote: parse(t, f[remoteField]), node: p.Node, state: f[stateField],
			})
		}
	}
	return found
}

// parse reads an address of a table: its words of 32 bits are hexadecimal, in the order of the
// machine's bytes.
func parse(t *testing.T, text string) netip.AddrPort {
	t.Helper()
	host, port, _ := strings.Cut(text, ":")
	words, err := hex.DecodeString(host)
	if err != nil {
		t.Fatal(err)
	}
	var bytes []byte
	for ; len(words) >= 4; words = words[4:] {
		bytes = binary.NativeEndian.AppendUint32(bytes, binary.BigEndian.Uint32(words))
	}
	address, ok := netip.AddrFromSlice(bytes)
	number, err := strconv.ParseUint(port, 16, 16)
	if err != nil || !ok {
		t.Fatalf("an address in a table: %q, %v", text, err)
	}
	return netip.AddrPortFrom(address.Unmap(), uint16(number))
}

// end names an end of a connection: each node has loopback addresses of its own.
func (s socket) end(address netip.AddrPort) string {
	if address.Addr().IsLoopback() {
		return s.node + " " + address.String()
	}
	return address.String()
}

// between returns the TCP connections with both ends at these processes.
func between(t *testing.T, ranks []daemons.Process) (found []string) {
	t.Helper()
	ends := make(map[string]bool)
	var all []socket
	for _, p := range ranks {
		for _, s := range socketsOf(t, p) {
			if s.protocol == "tcp" && s.state == established {
				ends[s.end(s.local)] = true
				all = append(all, s)
			}
		}
	}
	for _, s := range all {
		if local, remote := s.end(s.local), s.end(s.remote); ends[remote] && local < remote {
			found = append(found, local+" - "+remote)
		}
	}
	return found
}

// The ranks of a program over channels have no TCP connection to each other, inside a node and
// between two; those of the same program without channels have.
func TestConnections(t *testing.T) {
	s := newScene(t)
	for _, tt := range []struct {
		fabric string
		tcp    bool
	}{{"pm", false}, {"none", true}} {
		t.Run(tt.fabric, func(t *testing.T) {
			j := s.talk("-n", "4", "--fabric", tt.fabric)
			m := s.meters()
			s.Await("all nodes send and receive", func() bool { return m.least(s.endpoints(j)) >= enough })
			ranks := s.ranks(j)
			if len(ranks) != 4 {
				t.Fatalf("%d ranks, want 4: %v", len(ranks), ranks)
			}
			if found := between(t, ranks); (len(found) > 0) != tt.tcp {
				t.Errorf("TCP connections between ranks: %q, want some: %v", found, tt.tcp)
			}
			s.stop(j)
		})
	}
	s.End()
}
