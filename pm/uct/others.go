package uct

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"score/pm"
	"score/pm/interjob"
)

// Ranks of other jobs have numbers that follow those of the job's own ranks. All operations go to
// them by active messages.

// Address is where ranks of other jobs of the same user reach this one: it holds a secret, which
// the caller hands to them alone. The error is the system's.
func (i *Iface) Address() (interjob.Address, error) {
	if i.others == nil {
		if i.closed {
			return interjob.Address{}, ErrClosed
		}
		self := interjob.Address{Job: i.ch.Job(), Rank: uint32(i.Rank())}
		node, err := interjob.Listen(self, i.ch.Host(), i.ch.Rouse)
		if err != nil {
			return interjob.Address{}, err
		}
		i.others = node
		i.ch.WakeWhen(node.Ready)
	}
	return i.others.Address(), nil
}

// Connect returns the way to the rank of an address, which may be of this job. The error is
// interjob.ErrAddress, or Address's.
func (i *Iface) Connect(a interjob.Address) (*EP, error) {
	if a.Job == i.ch.Job() {
		return i.EP(int(a.Rank))
	}
	if _, err := i.Address(); err != nil {
		return nil, err
	}
	p, err := i.others.Peer(a)
	if err != nil {
		return nil, err
	}
	ep := i.otherEP(p)
	ep.activate() // answers to a peer that is not named yet wait for the address
	return ep, nil
}

// otherEP is the way to a peer, made at its first use.
func (i *Iface) otherEP(p *interjob.Peer) *EP {
	number := i.Ranks() + p.Number()
	for number >= len(i.eps) {
		i.eps = append(i.eps, nil)
	}
	if i.eps[number] == nil {
		i.eps[number] = &EP{iface: i, rank: number, other: p}
	}
	return i.eps[number]
}

// receiveOthers handles what ranks of other jobs sent; drained reports that there is no more.
func (i *Iface) receiveOthers() (n int, drained bool) {
	for ; n < batch; n++ {
		f, ok := i.others.Poll()
		if !ok {
			return n, true
		}
		ep := i.otherEP(f.Peer)
		switch {
		case f.Err == nil:
			i.dispatchOther(ep, f.Data)
		case f.Last:
			ep.fail(otherError(f.Err))
		default:
			ep.lose(otherError(f.Err))
		}
		f.Release()
	}
	return n, false
}

func (i *Iface) dispatchOther(ep *EP, data []byte) {
	if len(data) < HeadBytes && !ep.inboundClosed {
		ep.Violated()
	}
	i.handle(ep.rank, data, len(data))
}

// unnamed reports whether the peer is of another job and its address is unknown: nothing can be
// sent to it before Connect.
func (e *EP) unnamed() bool { return e.other != nil && !e.other.Named() }

// reserveOther is reserve for a rank of another job.
func (e *EP) reserveOther(h Header, n int) ([]byte, error) {
	if n > e.iface.maxPayload {
		return nil, ErrTooLong
	}
	buf, err := e.other.Reserve(HeadBytes + n)
	if err != nil {
		return nil, e.onSendError(otherError(err))
	}
	putHeader(buf, h)
	return buf[HeadBytes:], nil
}

// sendHeadOther is sendHead for a rank of another job.
func (e *EP) sendHeadOther(h pm.Head, data []byte) error {
	buf, err := e.reserveOther(headerOf(h.First), 8*h.Words-HeadBytes+len(data))
	if err != nil {
		return err
	}
	if h.Words > 1 {
		binary.LittleEndian.PutUint64(buf, h.Second)
		buf = buf[8:]
	}
	if h.Words > 2 {
		binary.LittleEndian.PutUint64(buf, h.Third)
		buf = buf[8:]
	}
	copy(buf, data)
	return e.commitOther()
}

func (e *EP) commitOther() error {
	if err := e.other.Commit(); err != nil {
		return e.onSendError(otherError(err))
	}
	return nil
}

// waitSpaceOther is waitSpace for a rank of another job.
func (i *Iface) waitSpaceOther(ctx context.Context, ep *EP) error {
	i.ch.WakeWhen(func() bool { return ep.other.Room() || i.others.Ready() })
	defer i.ch.WakeWhen(i.others.Ready)
	return i.ch.Wait(ctx)
}

// closeOthers closes the connections to other jobs. It runs before the channel closes, which they
// wake.
func (i *Iface) closeOthers() {
	if i.others != nil {
		_ = i.others.Close()
	}
}

// otherError translates errors of package interjob.
func otherError(err error) error {
	switch {
	case err == interjob.ErrFull: //nolint:errorlint // Reserve returns this very value
		return pm.ErrFull
	case errors.Is(err, interjob.ErrGone):
		return fmt.Errorf("%w: %w", pm.ErrPeerGone, err)
	default:
		return err
	}
}
