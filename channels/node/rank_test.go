package node

import (
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"score/channels"
	"score/channels/abi"
	"score/channels/drive"
	"score/channels/handover"
	"score/channels/link"
	"score/channels/link/ports"
	"score/channels/link/tipc"
	"score/channels/rankmap"
	"score/tests/await"
	"score/tests/processes"
	"testing"
	"time"
)

// patience ends a test that hangs.
const patience = time.Minute

const testKey = 4711

var loopback = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 0)

// cluster is a job with one rank on each node.
type cluster struct {
	nodes []*Node
	jobs  []*Job
	where []*rankmap.Map

	configure func(node int, config *JobConfig) // what add is to add, if not nil
}

func newCluster(t testing.TB, nodes int, config Config) *cluster {
	t.Helper()
	checkLeaks(t)
	c := openCluster(t, nodes, config)
	c.jobs, c.where = c.add(t, testKey)
	return c
}

// openCluster makes nodes without a job.
func openCluster(t testing.TB, nodes int, config Config) *cluster {
	t.Helper()
	c := &cluster{}
	config.Address = loopback
	var err error
	if config.Link, err = link.TransportFromEnvironment(); err != nil {
		t.Fatal(err)
	}
	if config.Log == nil {
		config.Log = func(event string, _ uint64, rank uint32, err error) { t.Errorf("rank %d: %s: %v", rank, event, err) }
	}
	for range nodes {
		n, err := Open(config)
		if err != nil {
			t.Fatal(err)
		}
		c.nodes = append(c.nodes, n)
		t.Cleanup(func() {
			if err := n.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return c
}

// add adds a job with one rank on each node.
func (c *cluster) add(t testing.TB, key uint64) (jobs []*Job, maps []*rankmap.Map) {
	t.Helper()
	directories := c.directories(key)
	var nodeOf []uint32
	for i := range c.nodes {
		nodeOf = append(nodeOf, uint32(i))
	}
	for i, n := range c.nodes {
		where, err := rankmap.New(uint32(i), directories, nodeOf)
		if err != nil {
			t.Fatal(err)
		}
		config := JobConfig{Key: key, Places: where}
		if c.configure != nil {
			c.configure(i, &config)
		}
		j, err := n.Add(config)
		if err != nil {
			t.Fatal(err)
		}
		jobs, maps = append(jobs, j), append(maps, where)
	}
	return jobs, maps
}

// directories are where those of a job's nodes are.
func (c *cluster) directories(key uint64) (all []link.Address) {
	names := link.NamesOf(tipc.DefaultType, key, uint32(len(c.nodes)), uint32(len(c.nodes)))
	for i, n := range c.nodes {
		at := link.AddressOf(n.Directory())
		if n.config.Link == link.TIPC {
			at = names.Directory(uint32(i))
		}
		all = append(all, at)
	}
	return all
}

// checkLeaks compares descriptors and goroutines when all other cleanups have run.
func checkLeaks(t testing.TB) {
	t.Helper()
	if a, b, err := handover.Pair(); err == nil { // the run time's poller stays open
		a.Close()
		b.Close()
	}
	files, routines := processes.Descriptors(), runtime.NumGoroutine()
	t.Cleanup(func() {
		await.That(t, fmt.Sprintf("descriptors as before, %d", files), func() bool { return processes.Descriptors() <= files })
		await.That(t, fmt.Sprintf("goroutines as before, %d", routines), func() bool { return runtime.NumGoroutine() <= routines })
	})
}

// rank plays a rank's process: it has mappings and descriptors of its own.
type rank struct {
	t      testing.TB
	img    *channels.Image
	in     *channels.Inbox
	driver *drive.Driver
	conn   *handover.Client
}

// join makes the rank's process and opens the channel.
func (c *cluster) join(t testing.TB, jobs []*Job, number, channel uint32) *rank {
	t.Helper()
	server, file, err := handover.Pair()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := handover.Conn(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := jobs[number].Serve(server, number); err != nil {
		t.Fatal(err)
	}
	r := &rank{t: t, conn: handover.NewClient(conn)}
	t.Cleanup(func() { r.conn.Close() })
	if r.img, err = r.conn.Image(channel, handover.Own); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.img.Close() })
	socket, file, err := r.conn.Network(channel)
	if err != nil {
		t.Fatal(err)
	}
	where, err := rankmap.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	port, err := ports.Open(socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { port.Close() })
	if r.driver, err = drive.New(r.img, port, where, abi.RoleProcess); err != nil {
		t.Fatal(err)
	}
	if r.in, err = r.img.Inbox(func(uint32) {}); err != nil {
		t.Fatal(err)
	}
	me, err := channels.Self()
	if err != nil {
		t.Fatal(err)
	}
	r.img.SetOwner(abi.RoleProcess, me)
	return r
}

// twoRanks makes a cluster of two nodes with a rank each. The second has sent the first a message,
// and computes since then.
func twoRanks(t testing.TB) (c *cluster, zero, one *rank) {
	t.Helper()
	c = newCluster(t, 2, Config{})
	zero, one = c.join(t, c.jobs, 0, 1), c.join(t, c.jobs, 1, 1)
	one.send(0, "hello")
	zero.receive()
	return c, zero, one
}

// poll drives as a process does that waits for messages.
func (r *rank) poll() {
	if r.driver.Enter() {
		r.driver.Drive(channels.Nanos())
		r.driver.Leave()
	}
}

func (r *rank) send(to uint32, text string) {
	r.t.Helper()
	await.That(r.t, "space to send", func() bool {
		if !r.driver.Enter() {
			return false
		}
		defer r.driver.Leave()
		err := r.driver.Send(to, []byte(text), true, channels.Nanos())
		if err != nil && !errors.Is(err, channels.ErrFull) {
			r.t.Fatal(err)
		}
		return err == nil
	})
}

// try sends if there is space now.
func (r *rank) try(to uint32, text string) bool {
	r.t.Helper()
	if !r.driver.Enter() {
		return false
	}
	defer r.driver.Leave()
	now := channels.Nanos()
	r.driver.Drive(now)
	err := r.driver.Send(to, []byte(text), true, now)
	if err != nil && !errors.Is(err, channels.ErrFull) {
		r.t.Fatal(err)
	}
	return err == nil
}

// receive takes the next message; the process drives.
func (r *rank) receive() string {
	r.t.Helper()
	return r.next(r.poll)
}

// receiveDriven takes the next message; the process does not drive.
func (r *rank) receiveDriven() string {
	r.t.Helper()
	return r.next(func() {})
}

// next takes the next message, and calls poll before each look.
func (r *rank) next(poll func()) string {
	r.t.Helper()
	var text string
	await.That(r.t, "a message", func() bool {
		poll()
		r.in.ResetIdle()
		m, ok := r.in.Poll()
		if !ok {
			return false
		}
		if m.Available() < m.Len() {
			r.t.Fatal("a message in parts")
		}
		text = string(m.Head())
		if err := r.in.Release(m); err != nil {
			r.t.Fatal(err)
		}
		return true
	})
	return text
}

// settled reports whether all that the rank sent was acknowledged.
func (r *rank) settled() bool {
	r.poll()
	if !r.driver.Enter() {
		return false
	}
	defer r.driver.Leave()
	return r.driver.Settled()
}

func mode(j *Job) string {
	for _, s := range j.Contexts() {
		return s.Mode
	}
	return ""
}

// mapOf is the map of a job with one rank on each node.
func mapOf(t testing.TB, own uint32, directories []link.Address) *rankmap.Map {
	t.Helper()
	var nodeOf []uint32
	for i := range directories {
		nodeOf = append(nodeOf, uint32(i))
	}
	where, err := rankmap.New(own, directories, nodeOf)
	if err != nil {
		t.Fatal(err)
	}
	return where
}
