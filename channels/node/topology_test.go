package node

import (
	"errors"
	"score/channels/link"
	"score/channels/link/tipc"
	"score/tests/await"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Tests of what nodes learn of names (TIPC); tests/tipc runs them in a guest.

// cut loses a node's connection to the topology service, which is then made by watch.
func cut(n *Node, watch func() (*tipc.Watcher, error)) {
	n.loop.do(func() {
		n.loop.topology.watch = watch
		_ = unix.Shutdown(n.loop.topology.watcher.Descriptor(), unix.SHUT_RDWR)
	})
}

// TestTopologyIsMadeAgain: the connection to the topology service is lost, and cannot be made again
// for a while. When it is back, names that were withdrawn meanwhile are reported, and so are new
// ones. Messages pass all the time.
func TestTopologyIsMadeAgain(t *testing.T) {
	needTIPC(t)
	left := make(chan uint32, 8)
	var s said
	c := newCluster(t, 3, Config{Log: s.log})
	n := c.nodes[0]
	n.loop.do(func() { n.config.Left = func(_ uint64, node uint32) { left <- node } }) // the others are notified, too
	zero, one := c.join(t, c.jobs, 0, 1), c.join(t, c.jobs, 1, 1)
	exchange(t, zero, one, "before")
	refused := make(chan struct{}, 1000)
	cut(n, func() (*tipc.Watcher, error) {
		refused <- struct{}{}
		return nil, unix.ENOMEM
	})
	for range 3 {
		<-refused
	}
	if err := n.NameTroubles().Lost; err == nil {
		t.Error("nobody says that the connection is lost")
	}
	exchange(t, zero, one, "without news")
	if err := c.nodes[2].Close(); err != nil {
		t.Fatal(err)
	}
	n.loop.do(func() { n.loop.topology.watch = tipc.Watch })
	expectLeft(t, left, 2)
	await.That(t, "nothing is amiss", func() bool { return n.NameTroubles().Lost == nil })
	exchange(t, zero, one, "after")
	n.loop.do(func() {
		if f := n.loop.topology.failures; f != 0 || n.loop.topology.settling {
			t.Errorf("%d failures in a row are kept", f)
		}
	})
	if err := c.nodes[1].Close(); err != nil {
		t.Fatal(err)
	}
	expectLeft(t, left, 1)
	if all := s.all(); len(all) != 1 {
		t.Errorf("the loss is told of as %v", all)
	}
}

// expectLeft waits until a node is reported as gone.
func expectLeft(t *testing.T, left <-chan uint32, want uint32) {
	t.Helper()
	select {
	case node := <-left:
		if node != want {
			t.Errorf("node %d left, not %d", node, want)
		}
	case <-time.After(patience):
		t.Fatalf("node %d never left", want)
	}
}

func exchange(t *testing.T, a, b *rank, text string) {
	t.Helper()
	for _, pair := range [][2]*rank{{a, b}, {b, a}} {
		pair[0].send(pair[1].img.Rank, text)
		if got := pair[1].receive(); got != text {
			t.Fatalf("%q, want %q", got, text)
		}
		await.That(t, "it is acknowledged", pair[0].settled)
	}
}

// TestTwoClusters: two clusters share a network and a type, and their jobs have the same names.
// Neither takes what is the other's, and each says that the other is there, as long as it is.
func TestTwoClusters(t *testing.T) {
	needTIPC(t)
	var s, other said
	a := newCluster(t, 2, Config{Log: s.log, Mark: link.MarkOf([]byte("a"))})
	b := openCluster(t, 2, Config{Log: other.log, Mark: link.MarkOf([]byte("b"))})
	b.configure = func(_ int, config *JobConfig) { config.Key = testKey + 1 }
	b.jobs, b.where = b.add(t, testKey) // the names are those of the other key
	var ranks []*rank
	for _, c := range []*cluster{a, b} {
		ranks = append(ranks, c.join(t, c.jobs, 0, 1), c.join(t, c.jobs, 1, 1))
	}
	for range 20 {
		exchange(t, ranks[0], ranks[1], "of the first")
		exchange(t, ranks[2], ranks[3], "of the second")
	}
	for i, r := range ranks {
		r.in.ResetIdle()
		if m, ok := r.in.Poll(); ok {
			t.Errorf("rank %d of cluster %d got %q besides", i%2, i/2, m.Head())
		}
	}
	for _, n := range slices.Concat(a.nodes, b.nodes) {
		await.That(t, "the other cluster is told of", func() bool { return errors.Is(n.NameTroubles().Other, ErrOtherCluster) })
		t.Log(n.NameTroubles().Other)
	}
	for _, s := range []*said{&s, &other} {
		await.That(t, "both nodes tell of names that are another's, too", func() bool {
			squatters := 0
			for _, err := range s.all() {
				if errors.Is(err, ErrSquatter) {
					squatters++
				}
			}
			return squatters == 2
		})
	}
	for _, n := range b.nodes {
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range a.nodes {
		await.That(t, "it is alone", func() bool { return n.NameTroubles().Other == nil })
	}
	exchange(t, ranks[0], ranks[1], "alone")
}

// TestUnseen: a node whose names never appear is reported once, after a while, and not any more
// when they do.
func TestUnseen(t *testing.T) {
	needTIPC(t)
	checkLeaks(t)
	unseen := make(chan []uint32, 2)
	c := openCluster(t, 2, Config{Unseen: func(job uint64, nodes []uint32) {
		if job == testKey {
			unseen <- nodes
		}
	}})
	names := link.NamesOf(tipc.DefaultType, testKey, 2, 2)
	directories := []link.Address{names.Directory(0), names.Directory(1)}
	j, err := c.nodes[0].Add(JobConfig{Key: testKey, Places: mapOf(t, 0, directories)})
	if err != nil {
		t.Fatal(err)
	}
	c.join(t, []*Job{j}, 0, 1)
	l := c.nodes[0].loop
	l.do(func() { l.checkUnseen(j.remoteSince() + unseenAfter - 1) })
	if len(unseen) != 0 || len(c.nodes[0].NameTroubles().Unseen) != 0 {
		t.Error("it is told of too soon")
	}
	for range 2 {
		l.do(func() { l.checkUnseen(j.remoteSince() + unseenAfter) })
	}
	if got := <-unseen; !slices.Equal(got, []uint32{1}) {
		t.Errorf("unseen are %v", got)
	}
	if got := c.nodes[0].NameTroubles().Unseen; len(got) != 1 || got[0].Job != testKey || !slices.Equal(got[0].Nodes, []uint32{1}) {
		t.Errorf("unseen are %+v", got)
	}
	if _, err := c.nodes[1].Add(JobConfig{Key: testKey, Places: mapOf(t, 1, directories)}); err != nil {
		t.Fatal(err)
	}
	await.That(t, "it is seen", func() bool { return len(c.nodes[0].NameTroubles().Unseen) == 0 })
	if len(unseen) != 0 {
		t.Error("it is told of twice")
	}
}
