package node

import (
	"cmp"
	"fmt"
	"score/channels"
	"score/channels/link"
	"score/channels/link/tipc"
	"score/flowctl"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// eventsServed bounds the events of the topology service that are taken at a time: those of the
// contexts of a large node that is lost.
const eventsServed = 256

// Times of the connection to the topology service, in nanoseconds.
const (
	// minReconnect is the wait after a loss before the connection is made again; it doubles with
	// each failure up to maxReconnect: the service is the kernel's own, and if it refuses, then for
	// want of memory.
	minReconnect = int64(100 * time.Millisecond)
	maxReconnect = int64(10 * time.Second)
)

// markHandle is the subscription to the marks of clusters; jobs have others.
const markHandle = 0

// maxMarks bounds the sockets with marks of other clusters that are remembered.
const maxMarks = 64

// topology is what the node knows about names. All its fields are the loop's but troubles.
//
//	watcher == nil    connected at again, unless that is flowctl.NoDeadline
//	settling          the service has not yet reported all that is bound
type topology struct {
	watch    func() (*tipc.Watcher, error) // [tipc.Watch]; nil without TIPC
	watcher  *tipc.Watcher
	jobs     map[uint64]*Job
	last     uint64
	kind     uint32 // the cluster's type
	mark     uint32
	marks    published // of other clusters
	settling bool
	failures int   // in a row
	again    int64 // when to connect
	check    int64 // when to check which nodes are not seen
	troubles atomic.Pointer[NameTroubles]
	lost     error // of the connection, while there is none
}

func (t *topology) open(n *Node, directory int) (err error) {
	t.again, t.check = flowctl.NoDeadline, flowctl.NoDeadline
	t.troubles.Store(&NameTroubles{})
	if n.config.Link != link.TIPC || !n.config.Address.IsValid() {
		return nil
	}
	t.jobs, t.marks = map[uint64]*Job{}, newPublished(maxMarks)
	t.kind, t.mark, t.watch = cmp.Or(n.config.TIPCType, tipc.DefaultType), n.config.Mark%link.ReservedNames, tipc.Watch
	if err := tipc.Publish(directory, link.NameAddress(t.kind, t.mark)); err != nil {
		return err
	}
	if t.watcher, err = tipc.Watch(); err != nil {
		return err
	}
	return t.watcher.Subscribe(t.marksRange(), markHandle)
}

func (t *topology) fd() int {
	if t.watcher == nil {
		return -1
	}
	return t.watcher.Descriptor()
}

func (t *topology) close() {
	if t.watcher != nil {
		_ = t.watcher.Close() // nothing is lost
		t.watcher = nil
	}
}

// rangeOf is all names of the job.
func rangeOf(n *link.Names) tipc.Range {
	return tipc.Range{Kind: n.Kind, First: n.Base, Last: n.Last()}
}

// marksRange is the marks of all clusters of the type.
func (t *topology) marksRange() tipc.Range {
	return tipc.Range{Kind: t.kind, First: 0, Last: link.ReservedNames - 1}
}

// subscribe makes the service report a job's names to the loop.
func (l *loop) subscribe(j *Job) {
	t := &l.topology
	if t.watch == nil {
		return
	}
	t.last++
	j.names.subscription = t.last
	j.names.published = newPublished(int(min(j.names.Count()+maxMarks, maxPublished)))
	t.jobs[t.last] = j
	t.check = min(t.check, channels.Nanos()+unseenAfter)
	if t.watcher == nil {
		return
	}
	if err := t.watcher.Subscribe(rangeOf(&j.names.Names), j.names.subscription); err != nil {
		l.loseTopology(err)
	}
}

func (l *loop) unsubscribe(j *Job) {
	t := &l.topology
	if t.jobs[j.names.subscription] != j {
		return
	}
	delete(t.jobs, j.names.subscription)
	if j.names.seen.reported {
		l.updateTroubles()
	}
	if t.watcher == nil {
		return
	}
	if err := t.watcher.Cancel(rangeOf(&j.names.Names), j.names.subscription); err != nil {
		l.loseTopology(err)
	}
}

// loseTopology continues without events of names until the connection is made again: ends are
// announced by datagrams, too, and others notice lost nodes.
func (l *loop) loseTopology(err error) {
	t := &l.topology
	if t.watcher != nil {
		_ = l.control(unix.EPOLL_CTL_DEL, t.watcher.Descriptor(), eventTopology, 0) // it is there
		t.close()
	}
	t.settling = false
	t.again = channels.Nanos() + min(minReconnect<<min(t.failures, reconnectDoubles), maxReconnect)
	t.failures++
	if t.lost != nil {
		return
	}
	t.lost = fmt.Errorf("no news of names until the kernel's topology service is reached again: %w", err)
	l.node.log("no news of names", 0, 0, t.lost)
	l.updateTroubles()
}

// reconnectDoubles is the number of failures after which the wait is not doubled any more.
const reconnectDoubles = 7

// tendTopology restores a lost connection, and checks which nodes are not seen.
func (l *loop) tendTopology(now int64) {
	t := &l.topology
	if now >= t.again {
		t.again = flowctl.NoDeadline
		if err := l.reconnectTopology(); err != nil {
			l.loseTopology(err)
		}
	}
	if now >= t.check {
		l.checkUnseen(now)
	}
}

// reconnectTopology subscribes to all ranges, to that of the marks last: when the service reports a
// mark, it has reported everything bound in the others.
func (l *loop) reconnectTopology() (err error) {
	t := &l.topology
	if t.watcher, err = t.watch(); err != nil {
		return err
	}
	if err := l.control(unix.EPOLL_CTL_ADD, t.watcher.Descriptor(), eventTopology, unix.EPOLLIN); err != nil {
		return err
	}
	t.settling = true
	t.marks.beginRound()
	for handle, j := range t.jobs {
		j.names.published.beginRound()
		if err := t.watcher.Subscribe(rangeOf(&j.names.Names), handle); err != nil {
			return err
		}
	}
	return t.watcher.Subscribe(t.marksRange(), markHandle)
}

// settleTopology treats names that the service did not report again as given up.
func (l *loop) settleTopology() {
	t := &l.topology
	t.settling, t.failures, t.lost = false, 0, nil
	for _, j := range t.jobs {
		for _, b := range j.names.published.settle() {
			l.onName(j, &tipc.Event{Gone: true, First: b.instance, Last: b.instance, Socket: b.address()})
		}
	}
	l.updateTroubles()
}

// serveTopology handles events of the service, within bounds: events that are left wake the loop
// again.
func (l *loop) serveTopology() {
	t := &l.topology
	for range eventsServed {
		if t.watcher == nil {
			return
		}
		e, ok, err := t.watcher.Next()
		if err != nil {
			l.loseTopology(err)
			return
		}
		if !ok {
			return
		}
		if e.Handle == markHandle {
			l.onMark(&e)
		} else if j := t.jobs[e.Handle]; j != nil {
			l.onName(j, &e)
		}
	}
}
