package sim

import (
	"score/channels/abi"
	"score/flowctl"
)

// ledger is what must be in a context's buffers. It is computed from the messages' lengths and from
// what flow control has accepted and acknowledged, not from the buffers.
type ledger struct {
	c        *driveContext
	peers    []account
	lines    int // of the inbox
	granules int // of the send buffer
}

// account is the ledger of one rank.
type account struct {
	send     *flowctl.Sender // nil: the rank itself
	recv     *flowctl.Receiver
	begun    uint64      // messages whose first frame the inbox took
	begins   flowctl.Seq // first frame of the next
	read     uint64      // messages that the process received
	kept     []int       // lengths of those sent and not acknowledged
	keptFrom flowctl.Seq // first frame of the oldest
}

func (l *ledger) open(c *driveContext) error {
	l.c = c
	l.peers = make([]account, c.Ranks)
	for rank := range c.Ranks {
		if rank == c.Rank {
			continue
		}
		send, recv, err := c.img.Flow(uint32(rank))
		if err != nil {
			return err
		}
		send.Reset(c.First)
		recv.Reset(c.First)
		l.peers[rank] = account{send: send, recv: recv, begins: c.First, keptFrom: c.First}
	}
	return nil
}

func (l *ledger) sent(to uint16, length int) {
	l.peers[to].kept = append(l.peers[to].kept, length)
	l.granules += granules(length)
}

// next returns which message of a rank the process receives next.
func (l *ledger) next(from uint16) uint64 { return l.peers[from].read }

func (l *ledger) released(from uint16, length int) {
	l.peers[from].read++
	l.lines -= int(abi.Lines(length))
}

// usage brings the ledger up to date.
func (l *ledger) usage() Usage {
	u := Usage{}
	for rank := range l.peers {
		a := &l.peers[rank]
		if a.send == nil {
			continue
		}
		l.takeIn(a, uint16(rank))
		l.giveBack(a)
		u.Accepted += uint64(a.recv.Next() - l.c.First)
		if !a.send.Failed() {
			u.InFlight = max(u.InFlight, int(a.send.Unacked()))
		}
	}
	u.Inbox, u.Send = l.lines, l.granules
	return u
}

// takeIn counts the messages that have begun to arrive.
func (l *ledger) takeIn(a *account, from uint16) {
	for a.begins.Before(a.recv.Next()) {
		m := Message{Job: l.c.Job, Channel: l.c.Channel, From: from, To: l.c.Rank, Index: a.begun}
		length := l.c.d.length(m)
		l.lines += int(abi.Lines(length))
		a.begins += flowctl.Seq(l.c.d.frames(length))
		a.begun++
	}
}

// voided notes that the inbox dropped a message whose rest will not come.
func (l *ledger) voided() {
	for rank := range l.peers {
		a := &l.peers[rank]
		if a.send == nil || !a.send.Failed() || a.begun != a.read+1 || !a.recv.Next().Before(a.begins) {
			continue
		}
		m := Message{Job: l.c.Job, Channel: l.c.Channel, From: uint16(rank), To: l.c.Rank, Index: a.read}
		l.released(uint16(rank), l.c.d.length(m))
		return
	}
}

// giveBack takes out messages that are acknowledged, or never will be.
func (l *ledger) giveBack(a *account) {
	for len(a.kept) > 0 {
		end := a.keptFrom + flowctl.Seq(l.c.d.frames(a.kept[0]))
		if !a.send.Failed() && a.send.Acked().Before(end) {
			return
		}
		l.granules -= granules(a.kept[0])
		a.keptFrom = end
		a.kept = a.kept[1:]
	}
}

func (a *account) flushed() bool { return a.send == nil || a.send.Failed() || a.send.Flushed() }

func (a *account) closed() bool { return a.send != nil && a.send.Closed() }

func (a *account) settled() bool {
	return a.send == nil || a.send.Failed() || a.send.End() == a.send.Acked()
}
