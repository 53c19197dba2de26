package uct

import (
	"context"
	"errors"
	"time"
)

const (
	// byeTimeout bounds how long Close waits for room for goodbyes.
	byeTimeout = 100 * time.Millisecond
	// owedSleep bounds a sleep while a peer owes an answer: it may have closed its channel just
	// before the question came.
	owedSleep = 100 * time.Millisecond
)

// wait waits until there may be something to do.
func (i *Iface) wait(ctx context.Context) error {
	if i.closed {
		return ErrClosed
	}
	if i.pulls > 0 && i.copyLate() > 0 {
		return nil
	}
	if i.owed > 0 {
		i.checkPeers()
	}
	if len(i.lost) > 0 {
		return i.waitLost(ctx)
	}
	if len(i.active) > 0 {
		return i.waitSpace(ctx)
	}
	if i.owed == 0 {
		return i.ch.Wait(ctx)
	}
	return i.waitFor(ctx, time.Now().Add(i.bulkSleep()))
}

// nap sleeps. With answers under way it sleeps no longer than wait would; with something to send,
// or a lost peer, it waits for that.
func (i *Iface) nap(timeout time.Duration, stop func() bool) {
	if !i.closed && len(i.lost) == 0 && len(i.active) == 0 {
		i.napBesideAnswers(timeout, stop)
		return
	}
	if stop() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	_ = i.wait(ctx) // whatever it was, the next poll finds it
}

func (i *Iface) napBesideAnswers(timeout time.Duration, stop func() bool) {
	if i.pulls > 0 && i.copyLate() > 0 {
		return
	}
	if i.owed > 0 {
		i.checkPeers()
		timeout = min(timeout, i.bulkSleep())
	}
	i.ch.Nap(timeout, stop)
}

// waitSpace waits until the first EP with something to send can go on; Progress then serves the
// others, too.
func (i *Iface) waitSpace(ctx context.Context) error {
	ep := i.active[0]
	if ep.other != nil {
		return i.waitSpaceOther(ctx, ep)
	}
	err := i.ch.WaitSpace(ctx, ep.rank, min(ep.wanted, i.ch.MaxMessage()))
	if err != nil && ctx.Err() == nil {
		ep.lose(err)
		return nil
	}
	return err
}

// waitFor is the channel's Wait, bounded by an instant.
func (i *Iface) waitFor(ctx context.Context, until time.Time) error {
	short, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	if err := i.ch.Wait(short); ctx.Err() != nil || short.Err() == nil {
		return err
	}
	return nil
}

// waitLost waits for the last messages of lost peers, no longer than they may take.
func (i *Iface) waitLost(ctx context.Context) error {
	for _, ep := range i.lost {
		if ep.inboundClosed || !ep.arriving() {
			return ctx.Err()
		}
	}
	return i.waitFor(ctx, i.lost[0].since.Add(lingerTimeout))
}

// sendBye sends what can be sent now, and a goodbye. If there is no room, it discards incoming
// messages: the peer may wait for room, too. A peer that gets no goodbye finds out by its next
// message.
func (i *Iface) sendBye(ep *EP, until time.Time) {
	// Where this fails, so does the goodbye.
	_, _ = ep.advance()
	for ep.send(Header{ID: idBye}, nil) == ErrAgain && time.Now().Before(until) { //nolint:errorlint // this very value
		i.discard(until)
	}
}

// discard drops the next message. Its sender will get the goodbye.
func (i *Iface) discard(until time.Time) bool {
	m, err := i.ch.Receive()
	if err != nil {
		return false
	}
	_, _ = i.EP(m.Source())          // a rank of the job
	_ = i.ch.ReleaseReceiveBuffer(m) // a message is given back once
	return time.Now().Before(until)
}

// Close tells the peers, completes what is under way with ErrCanceled, and closes the channel.
func (i *Iface) Close() error {
	if i.closed {
		return ErrClosed
	}
	until := time.Now().Add(byeTimeout)
	for i.discard(until) {
	}
	i.closed = true
	for _, ep := range i.eps {
		if ep != nil && ep.failed == nil && !ep.unnamed() {
			i.sendBye(ep, until)
		}
	}
	for _, ep := range i.eps {
		if ep != nil {
			ep.fail(ErrCanceled)
			ep.end()
			ep.release()
		}
	}
	i.worker.remove(i)
	i.closeOthers()
	err := i.ch.Close()
	if i.owner {
		err = errors.Join(err, i.md.Close())
	}
	return err
}
