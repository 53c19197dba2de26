package uct_test

import (
	"bytes"
	"context"
	"errors"
	"score/pm"
	"score/pm/mem/atomics"
	"score/pm/uct"
	"testing"
)

// TestMemoryTakenWhileItIsRead: a region or an exposure that ends under a get that streams from it
// ends the get with ErrKey; the way to the peer goes on.
func TestMemoryTakenWhileItIsRead(t *testing.T) {
	const size = 8 << 20
	for name, take := range map[string]func(md *uct.MD) (key uint64, end func()){
		"region": func(md *uct.MD) (uint64, func()) {
			r, _ := md.Register(make([]byte, size), uct.RemoteRead)
			return r.Key(), func() { _ = r.Close() }
		},
		"window": func(md *uct.MD) (uint64, func()) {
			r, _ := md.Alloc(size, uct.RemoteRead)
			return r.Key(), func() { _ = r.Close() }
		},
		"exposure": func(md *uct.MD) (uint64, func()) {
			x := md.Expose(make([]byte, size))
			return x.Key, func() { md.Conceal(x) }
		},
		"exposure that is used again": func(md *uct.MD) (uint64, func()) {
			x := md.Expose(make([]byte, size))
			return x.Key, func() { md.Conceal(x); md.Expose(make([]byte, size)) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachShape(t, func(t *testing.T, j job) {
				key, end := take(j[1].md)
				ep := j.ep(t, 0, 1)
				var d done
				j.retry(t, func() error { return ep.Get(make([]byte, size), uct.Remote{Key: key}, &d) })
				j.until(t, func() bool { return j[1].iface.Counts().Streamed > 0 })
				end()
				j.until(t, func() bool { return d.n == 1 })
				if !errors.Is(d.err, uct.ErrKey) {
					t.Errorf("the get ended with %v", d.err)
				}
				j.retry(t, func() error { return ep.Flush(&d) })
				j.until(t, func() bool { return d.n == 2 })
			})
		})
	}
}

// TestLastMessages: what a peer sent before it closed arrives, though a send to it has failed
// before.
func TestLastMessages(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		got, lost := 0, error(nil)
		j[0].iface.Handle(firstID, func(*uct.Packet) { got++ })
		j[0].iface.HandleGone(func(_ *uct.EP, err error) {
			if lost = err; got != 10 {
				t.Errorf("the peer was lost after %d of its messages", got)
			}
		})
		there, here := j.ep(t, 1, 0), j.ep(t, 0, 1)
		for range 10 {
			if err := there.Send(uct.Header{ID: firstID}, nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := j[1].worker.Close(); err != nil {
			t.Fatal(err)
		}
		_ = here.Send(uct.Header{ID: firstID}, nil) // inside a node this fails
		if here.Local() && here.Err() == nil || got != 0 {
			t.Errorf("%d messages came before progress was made: %v", got, here.Err())
		}
		job{j[0]}.until(t, func() bool { return lost != nil })
		if !errors.Is(lost, pm.ErrPeerClosed) {
			t.Error(lost)
		}
	})
}

// TestNoRoomForGoodbye: a peer that closes without room for a word is missed.
func TestNoRoomForGoodbye(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		var lost error
		j[0].iface.HandleGone(func(_ *uct.EP, err error) { lost = err })
		there := j.ep(t, 1, 0)
		for _, size := range []int{50_000, 1000, 0} {
			for there.Send(uct.Header{ID: firstID}, make([]byte, size)) == nil {
			}
		}
		if err := j[1].worker.Close(); err != nil {
			t.Fatal(err)
		}
		job{j[0]}.until(t, func() bool { return lost != nil })
		if !errors.Is(lost, pm.ErrPeerClosed) {
			t.Error(lost)
		}
	})
}

// TestWaitEnds: a rank that sleeps for the end of an operation learns that the peer closed.
func TestWaitEnds(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		ep := j.ep(t, 0, 1)
		closed := make(chan error)
		go func() { // the other rank takes what comes, then leaves
			for range 1000 {
				_ = j[1].worker.Progress()
			}
			closed <- j[1].worker.Close()
		}()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		var err error
		for err == nil { // it answers some
			err = j[0].worker.Do(ctx, func(d uct.Completion) error { return ep.Get(make([]byte, 8), uct.Remote{Key: 7}, d) })
			if errors.Is(err, uct.ErrKey) {
				err = nil
			}
		}
		if !errors.Is(err, pm.ErrPeerClosed) {
			t.Error(err)
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

// TestHandlersMayCall: a handler may begin operations and call Progress, which then does nothing.
func TestHandlersMayCall(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		r, err := j[0].md.Register(make([]byte, 8), uct.RemoteAll)
		if err != nil {
			t.Fatal(err)
		}
		back := j.ep(t, 1, 0)
		var d done
		j[1].iface.Handle(firstID, func(p *uct.Packet) {
			if n := j[1].worker.Progress(); n != 0 {
				t.Errorf("progress within progress handled %d messages", n)
			}
			if err := back.Put([]byte("answered"), uct.Remote{Key: r.Key()}, &d); err != nil {
				t.Error(err)
			}
		})
		ep := j.ep(t, 0, 1)
		j.retry(t, func() error { return ep.Send(uct.Header{ID: firstID}, nil) })
		j.until(t, func() bool { return d.n == 1 })
		if d.err != nil || string(r.Bytes()) != "answered" {
			t.Errorf("%q: %v", r.Bytes(), d.err)
		}
	})
}

// TestAtomicsOnShortMessages: a channel with credits carries less than MaxAtomicBytes. An operation
// that is too long is refused, and the next one goes on.
func TestAtomicsOnShortMessages(t *testing.T) {
	settings := pm.DefaultSettings()
	settings.Flow = pm.FlowCredits
	j := startWith(t, 2, 1, settings)
	r, err := j[1].md.Register(make([]byte, uct.MaxAtomicBytes), uct.RemoteAll)
	if err != nil {
		t.Fatal(err)
	}
	ep := j.ep(t, 0, 1)
	sum := uct.AtomicKind{Op: atomics.Sum, Type: atomics.Uint8}
	at := uct.Remote{Key: r.Key()}
	if err := ep.Atomic(sum, make([]byte, uct.MaxAtomicBytes), at, nil); !errors.Is(err, uct.ErrTooLong) {
		t.Errorf("operands of %d bytes in messages of %d: %v", uct.MaxAtomicBytes, j[0].iface.Attr().MaxMessage, err)
	}
	var d done
	ones := bytes.Repeat([]byte{1}, 900)
	j.retry(t, func() error { return ep.FetchAtomic(sum, ones, nil, make([]byte, 900), at, &d) })
	j.until(t, func() bool { return d.n == 1 })
	if d.err != nil || !bytes.Equal(r.Bytes()[:900], ones) {
		t.Error(d.err)
	}
}

// TestManyKeys: an EP remembers a bounded number of keys whose memory is not mapped, and a window
// is still found after many of them.
func TestManyKeys(t *testing.T) {
	j := start(t, 1, 2)
	ep := j.ep(t, 0, 1)
	var d done
	for key := range uint64(3000) {
		j.retry(t, func() error { return ep.Put([]byte{1}, uct.Remote{Key: key}, &d) })
		j.until(t, ep.Quiet)
	}
	if n := ep.Unmapped(); n > uct.MaxUnmapped {
		t.Errorf("%d keys are remembered", n)
	}
	window, err := j[1].md.Alloc(4096, uct.RemoteAll)
	if err != nil {
		t.Fatal(err)
	}
	j.until(t, func() bool {
		j.retry(t, func() error { return ep.Put([]byte{1}, uct.Remote{Key: window.Key()}, nil) })
		j.until(t, ep.Quiet)
		return j[0].iface.Counts().Direct > 0
	})
}

// TestClosedObjects: operations on what was closed fail with a reason.
func TestClosedObjects(t *testing.T) {
	j := start(t, 1, 2)
	ep := j.ep(t, 0, 1)
	r, err := j[0].md.Alloc(4096, uct.RemoteAll)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := r.Close(); !errors.Is(err, uct.ErrClosed) {
		t.Errorf("closing a region twice: %v", err)
	}
	var d done
	j.retry(t, func() error { return ep.Get(make([]byte, 8), uct.Remote{Key: 1}, &d) })
	if err := j[0].iface.Close(); err != nil {
		t.Error(err)
	}
	if d.n != 1 || !errors.Is(d.err, uct.ErrCanceled) {
		t.Errorf("completed %d times with %v", d.n, d.err)
	}
	for name, err := range map[string]error{
		"send":  ep.Send(uct.Header{ID: firstID}, nil),
		"put":   ep.Put(nil, uct.Remote{}, &d),
		"flush": ep.Flush(&d),
		"pull":  ep.Pull(nil, uct.Exposed{}, &d),
	} {
		if !errors.Is(err, uct.ErrCanceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := j[0].iface.Close(); !errors.Is(err, uct.ErrClosed) {
		t.Errorf("closing twice: %v", err)
	}
	if j[0].worker.Progress() != 0 {
		t.Error("progress of a worker without interfaces")
	}
}
