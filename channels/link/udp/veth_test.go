package udp

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"score/channels/link/mmsg"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// space is a network namespace: a thread that lives in it, and runs what it is given.
type space struct {
	work chan func()
	tid  int
}

func newSpace(t *testing.T) *space {
	t.Helper()
	s, started := &space{work: make(chan func())}, make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine, and the namespace with it
		s.tid = unix.Gettid()
		started <- unix.Unshare(unix.CLONE_NEWNET)
		for f := range s.work {
			f()
		}
	}()
	t.Cleanup(func() { close(s.work) })
	if err := <-started; err != nil {
		t.Skipf("no network namespace: %v", err)
	}
	return s
}

// in runs f in the namespace.
func (s *space) in(f func()) {
	done := make(chan struct{})
	s.work <- func() { defer close(done); f() }
	<-done
}

// ip runs the command in the namespace.
func (s *space) ip(t *testing.T, args ...string) {
	t.Helper()
	var out []byte
	var err error
	s.in(func() { out, err = exec.Command("ip", args...).CombinedOutput() })
	if err != nil {
		t.Fatalf("ip %v: %v\n%s", args, err, out)
	}
}

// wired makes two namespaces with a cable between them that has the MTU of Ethernet.
func wired(t *testing.T) (left, right *space) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root makes network namespaces")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("no ip command")
	}
	left, right = newSpace(t), newSpace(t)
	left.ip(t, "link", "add", "left", "type", "veth", "peer", "name", "right")
	left.ip(t, "link", "set", "right", "netns", strconv.Itoa(right.tid))
	for _, end := range []struct {
		s       *space
		name, n string
	}{{left, "left", "1"}, {right, "right", "2"}} {
		end.s.ip(t, "address", "add", "192.0.2."+end.n+"/24", "dev", end.name)
		end.s.ip(t, "address", "add", "2001:db8::"+end.n+"/64", "dev", end.name, "nodad")
		end.s.ip(t, "link", "set", end.name, "up")
	}
	return left, right
}

// portIn opens a port in the namespace. It asks for path MTUs where it runs, so what
// sends runs there, too.
func (s *space) portIn(t *testing.T, host string) (p *Port) {
	s.in(func() { p = newPort(t, host) })
	return p
}

// TestEthernet: datagrams are as long as the path takes, in both families, with offload and
// without; longer ones come in fragments; and a path that becomes narrower is noticed, without a
// datagram lost.
func TestEthernet(t *testing.T) {
	left, right := wired(t)
	for _, c := range []struct {
		name, left, right string
		headers           int
		offload           bool
	}{
		{"IPv4", "192.0.2.1", "192.0.2.2", headers4, true},
		{"IPv4 without offload", "192.0.2.1", "192.0.2.2", headers4, false},
		{"IPv6", "2001:db8::1", "2001:db8::2", headers6, true},
		{"IPv6 without offload", "2001:db8::1", "2001:db8::2", headers6, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			left.ip(t, "link", "set", "left", "mtu", "1500")
			a, b := left.portIn(t, c.left), right.portIn(t, c.right)
			if !c.offload {
				withoutOffload(t, a, b)
			}
			var size int
			left.in(func() { size = a.Size(b.Local()) })
			if size != 1500-c.headers {
				t.Fatalf("size %d, want %d", size, 1500-c.headers)
			}
			sendRun(t, left, a, b, 200, size)
			if s := a.Stats(); s.Dropped > 0 || s.Fragmented > 0 || (a.gso && s.Calls > 10) {
				t.Errorf("as long as the path takes: %+v", s)
			}
			sendRun(t, left, a, b, 1, 32<<10)
			sendRun(t, left, a, b, 5, 32<<10)
			if s := a.Stats(); s.Dropped > 0 || s.Fragmented != 6 {
				t.Errorf("longer: %+v", s)
			}
			left.ip(t, "link", "set", "left", "mtu", "1400")
			sendRun(t, left, a, b, 200, size)
			if s := a.Stats(); s.Dropped > 0 || s.Fragmented != 205 {
				t.Errorf("a narrower path: %+v", s)
			}
			left.in(func() { size = a.Size(b.Local()) })
			if size != 1400-c.headers || a.gso != (c.offload && b.gso) {
				t.Errorf("size %d, want %d; segmentation %v", size, 1400-c.headers, a.gso)
			}
			sendRun(t, left, a, b, 200, size)
			if s := a.Stats(); s.Dropped > 0 || s.Fragmented != 205 {
				t.Errorf("as long as the narrower path takes: %+v", s)
			}
		})
	}
}

// sendRun sends datagrams of one length, and a shorter one last; all come in order.
func sendRun(t *testing.T, from *space, a, b *Port, count, size int) {
	t.Helper()
	dice := rand.New(rand.NewPCG(uint64(count), uint64(size)))
	var sent [][]byte
	for i := range count {
		data := make([]byte, size)
		if i == count-1 {
			data = data[:size-size/3]
		}
		for i := range data {
			data[i] = byte(dice.Uint32())
		}
		sent = append(sent, stamped(data))
	}
	for some := range slices.Chunk(sent, mmsg.Batch) { // few enough for the receive queue
		from.in(func() {
			for _, data := range some {
				send(a, b.Local(), data)
			}
			a.Flush()
		})
		got := receive(b, len(some))
		if !slices.EqualFunc(got, some, func(x parcel, y []byte) bool { return x.from == a.Local() && bytes.Equal(x.data, y) }) {
			t.Fatal("what came is not what was sent")
		}
	}
}
