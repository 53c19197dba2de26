package node

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"score/channels"
	"score/channels/abi"
	"score/channels/link"
	"score/channels/link/ports"
	"score/channels/link/udp"
	"score/flowctl"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxAsked bounds the batches that the directory takes at a time. Askers without an answer ask
	// again.
	maxAsked = 4
	// noticeNodes is the number of nodes that a death is announced to at a time.
	noticeNodes = 256
)

// directory is the node's own socket, the daemons' channel, which no user's traffic can fill. It
// answers where a context is, and receives notices of deaths on other nodes. All its fields are the
// loop's.
//
// It answers only requests with a job's key, and never with more bytes than the request had, so it
// cannot be used to amplify an attack.
type directory struct {
	node   *Node
	port   link.Port
	fd     int
	at     netip.AddrPort
	named  bool // it is found by names (TIPC)
	writer link.Writer
	handle func(link.Address, []byte)
	again  int64 // when to listen again after too many came; flowctl.NoDeadline: it listens
}

func (d *directory) open(n *Node, at netip.AddrPort) error {
	if n.config.Link == link.TIPC {
		return d.openNamed(n)
	}
	socket, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
	if err != nil {
		return err
	}
	defer func() { _ = socket.Close() }() // the file is another descriptor
	file, err := socket.File()
	if err != nil {
		return err
	}
	port, err := udp.New(file)
	if err != nil {
		file.Close()
		return err
	}
	d.use(n, port)
	d.at = port.Local().AddrPort()
	return nil
}

func (d *directory) use(n *Node, port ports.Port) {
	d.node, d.fd = n, port.Descriptor()
	d.port = link.WithFaults(port, n.config.Faults)
	d.handle, d.again = d.take, flowctl.NoDeadline
}

func (d *directory) close() error {
	if d.port == nil {
		return nil
	}
	if err := d.port.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// serve answers what has come, within bounds: if more is there, the directory stops reading for a
// multiple of the time that this took.
func (l *loop) serve() {
	d := &l.directory
	start := channels.Nanos()
	full := true
	for range maxAsked {
		if d.port.Receive(d.handle) == 0 {
			full = false
			break
		}
		d.port.Flush()
	}
	if now := channels.Nanos(); full {
		d.again = now + (now-start)*rest
		return
	}
	l.listenAgain()
}

func (l *loop) listenAgain() {
	l.directory.again = flowctl.NoDeadline
	_ = l.control(unix.EPOLL_CTL_MOD, l.directory.fd, eventDirectory, unix.EPOLLIN|unix.EPOLLONESHOT) // it was added with success
}

func (d *directory) take(from link.Address, data []byte) {
	h, _, err := link.Parse(data)
	if err != nil && d.named {
		d.takeSealed(from, data)
	}
	if err != nil || d.named {
		return // a message with a job's key is not sent to a name
	}
	switch h.Kind {
	case link.Where:
		d.where(from, &h)
	case link.End:
		d.onEnd(from, &h)
	default:
	}
}

// where answers a rank of another node, or its agent.
func (d *directory) where(from link.Address, h *link.Head) {
	j, removed := d.node.job(h.Job)
	answer := link.Head{Kind: link.Here, Job: h.Job, Channel: h.Channel, From: h.To, To: h.From, Status: link.StatusEnded}
	if j != nil {
		if !j.mayAsk(from, h) {
			return
		}
		var at link.Address
		answer.Status, at = j.portOf(name{h.Channel, h.To}, uint32(h.Flow))
		answer.Port = at.AddrPort().Port()
	} else if !removed {
		return
	}
	d.send(from, &answer)
}

func (d *directory) send(to link.Address, h *link.Head) {
	d.writer.Begin(d.port.Buffer(), link.HeadBytes, h)
	d.port.Queue(to, d.writer.Finish(0))
}

// mayAsk reports whether the question is for a rank of this node, and comes from the node of a rank
// elsewhere.
func (j *Job) mayAsk(from link.Address, h *link.Head) bool {
	return j.places != nil && j.has(h.To) && h.Channel < MaxChannels && !j.has(h.From) &&
		from.Host() == j.places.Directory(j.places.Node(h.From)).Host()
}

// portOf finds where the context receives. It makes the context if its rank has not asked for it
// yet, so that messages may arrive before their receiver opens the channel; the asking rank's flow
// control then applies.
func (j *Job) portOf(of name, flow uint32) (status uint8, at link.Address) {
	if j.isGone(of) {
		return link.StatusEnded, at
	}
	c, err := j.context(of, flow)
	switch {
	case errors.Is(err, ErrClosed):
		return link.StatusEnded, at
	case errors.Is(err, ErrNotGiven), errors.Is(err, abi.ErrPlaces):
		return link.StatusNotYet, at // until the rank has ended, as it will when it gets the reason
	case err != nil:
		j.node.log("no memory for a context", j.key, of.rank, err)
		return link.StatusNotYet, at
	case c.damaged.Load(), c.withdrawn.Load():
		return link.StatusEnded, at
	case !c.isSpared():
		return link.StatusNotYet, at
	}
	return link.StatusHere, c.here()
}

// isGone reports whether the rank ended without having opened the context.
func (j *Job) isGone(of name) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.ended[of.rank] && j.contexts[of] == nil
}

// onEnd handles the notice of a death from the directory of the dead rank's node.
func (d *directory) onEnd(from link.Address, h *link.Head) {
	j, _ := d.node.job(h.Job)
	if j == nil || j.places == nil || j.has(h.From) || h.Channel >= MaxChannels || from.None() ||
		from != j.places.Directory(j.places.Node(h.From)) || h.Status == link.EndFlow {
		return
	}
	j.peerEnded(h.Channel, h.From, h.Status)
}

// notice announces a death to the directories of the job's other nodes. It is sent as often, and at
// the same intervals, as the end of a context.
type notice struct {
	job  *Job
	of   name
	sent int
	node uint32 // next to notify
	at   int64
}

// notify announces a death to the other nodes. The loop calls it.
func (j *Job) notify(of name) {
	l := j.node.loop
	j.withdraw(of)
	l.notices = append(l.notices, &notice{job: j, of: of})
}

func (l *loop) sendNotices(now int64) {
	if l.directory.port != nil && now >= l.directory.again {
		l.listenAgain()
	}
	for _, n := range l.notices {
		if now >= n.at {
			l.sendNotice(n, now)
		}
	}
	l.notices = slices.DeleteFunc(l.notices, func(n *notice) bool { return n.sent >= maxNotices })
	if _, holds := l.directory.holds(); holds {
		l.directory.port.Flush()
	}
}

// holds is the port's [link.Holder]; a port that sends at once holds nothing.
func (d *directory) holds() (wait time.Duration, holds bool) {
	if port, ok := d.port.(link.Holder); ok {
		return port.Wait()
	}
	return 0, false
}

func (l *loop) sendNotice(n *notice, now int64) {
	h := link.Head{Kind: link.End, Job: n.job.key, Channel: n.of.channel, From: n.of.rank, To: n.of.rank, Status: link.EndDied}
	places := n.job.places
	end := min(n.node+noticeNodes, places.Nodes())
	for ; n.node < end; n.node++ {
		if n.node != places.Own() {
			l.directory.sendDeath(places.Directory(n.node), &h)
		}
	}
	l.directory.port.Flush()
	n.at = now + tick
	if n.node == places.Nodes() {
		n.node, n.at = 0, now+noticeWait(n.sent)
		n.sent++
	}
}

// nextNotice returns when sendNotices has something to do.
func (l *loop) nextNotice() int64 {
	next := int64(flowctl.NoDeadline)
	if l.directory.port != nil {
		next = l.directory.again
	}
	if wait, holds := l.directory.holds(); holds {
		next = min(next, channels.Nanos()+int64(wait))
	}
	for _, n := range l.notices {
		next = min(next, n.at)
	}
	return next
}

// forget drops the notices of contexts that are dropped.
func (l *loop) forget(all []*Context) {
	l.notices = slices.DeleteFunc(l.notices, func(n *notice) bool { return len(all) > 0 && n.job == all[0].job })
}
