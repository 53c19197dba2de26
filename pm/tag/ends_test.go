package tag_test

import (
	"bytes"
	"context"
	"errors"
	"score/pm"
	"score/pm/local/localtest"
	"score/pm/tag"
	"slices"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestClosedEndpoint: operations on a closed endpoint fail, and its port can be opened again.
func TestClosedEndpoint(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		e := j[1].ep
		var r, many, s tag.Op
		_ = e.Receive(&r, everything, nil)
		_ = e.ReceiveMany(&many, tag.Criteria{Space: tag.Untagged, Source: tag.AnyPeer}, make([]byte, 100), 1)
		e.Close()
		if !errors.Is(r.Err, tag.ErrCanceled) || !errors.Is(many.Err, tag.ErrCanceled) || !many.Last {
			t.Errorf("receives ended with %v and %v", r.Err, many.Err)
		}
		for name, err := range map[string]error{
			"receive": e.Receive(&r, everything, nil),
			"many":    e.ReceiveMany(&r, everything, nil, 1),
			"send":    e.Send(&s, peer(0), 1, nil),
			"copy":    e.SendCopy(peer(0), 1, nil, tag.SendOptions{}),
		} {
			if !errors.Is(err, tag.ErrClosed) {
				t.Errorf("%s: %v", name, err)
			}
		}
		again, err := j[1].stack.Open(0)
		if err != nil {
			t.Fatal(err)
		}
		e.Close() // changes nothing
		_ = again.Receive(&r, everything, make([]byte, 8))
		_ = j[0].ep.Send(&s, peer(1), 1, []byte("again"))
		j.until(t, func() bool { return r.Done() })
		if string(r.Bytes) != "again" {
			t.Errorf("%+v", r.Result)
		}
	})
}

// TestSentToClosedEndpoint: what comes for a closed endpoint goes, so that its sender has room for
// others, and the next one at the port gets nothing of it.
func TestSentToClosedEndpoint(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		j[1].ep.Close()
		const n = 300
		sends := make([]tag.Op, n)
		for k := range sends {
			size := 1000
			if k == n-1 {
				size = 1 << 20
			}
			if err := j[0].ep.SendWith(&sends[k], peer(1), 1, make([]byte, size), tag.SendOptions{Sync: true}); err != nil {
				t.Fatal(err)
			}
		}
		j.until(t, func() bool { return !slices.ContainsFunc(sends, func(o tag.Op) bool { return !o.Done() }) })
		for k := range sends {
			if sends[k].Err != nil {
				t.Fatalf("send %d: %v", k, sends[k].Err)
			}
		}
		if held := j[1].stack.Counts().HeldBytes; held != 0 {
			t.Errorf("%d bytes are kept", held)
		}
		again, err := j[1].stack.Open(0)
		if err != nil {
			t.Fatal(err)
		}
		if again.Probe(everything) != nil {
			t.Error("the next endpoint has a message of the closed one")
		}
	})
}

// TestEndsWithinAFetch: a buffer for many, into which a long message is being fetched, is given
// back once, with the last one, if its endpoint is closed or its peer lost.
func TestEndsWithinAFetch(t *testing.T) {
	const n = 4 << 20
	for name, end := range map[string]func(j job){
		"canceled": func(j job) { j[1].ep.Close() },
		"lost":     func(j job) { _ = j[0].iface.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			j := start(t, 2, 1, tag.Settings{})
			var ended, last int
			many := tag.Op{OnDone: func(o *tag.Op) {
				if ended++; o.Last {
					last++
				}
			}}
			_ = j[1].ep.ReceiveMany(&many, tag.Criteria{Space: tag.Untagged, Source: peer(0)}, make([]byte, 2*n), 1)
			var s tag.Op
			_ = j[0].ep.SendWith(&s, peer(1), 0, make([]byte, n), tag.SendOptions{Space: tag.Untagged})
			j.until(t, func() bool { return j[0].iface.Counts().Streamed > 0 })
			end(j)
			j.until(t, many.Done)
			if ended > 2 || last != 1 { // the message, and the buffer
				t.Errorf("told %d times, the last %d times", ended, last)
			}
			if err := many.Err; name == "lost" && !errors.Is(err, pm.ErrPeerClosed) || name == "canceled" && err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLostPeerEndsSendsOnce: sends of all kinds to a peer that is lost end once each, and their
// numbers serve others.
func TestLostPeerEndsSendsOnce(t *testing.T) {
	j := start(t, 1, 3, tag.Settings{})
	ended := map[*tag.Op]int{}
	var ops []*tag.Op
	for i := range 300 {
		o := &tag.Op{OnDone: func(o *tag.Op) { ended[o]++ }}
		if err := j[0].ep.Send(o, peer(1), 1, make([]byte, []int{8, 5000, 100_000}[i%3])); err != nil {
			t.Fatal(err)
		}
		ops = append(ops, o)
	}
	if err := j[1].iface.Close(); err != nil {
		t.Fatal(err)
	}
	var late tag.Op
	for late.Err == nil { // finds out by a send
		if err := j[0].ep.Send(&late, peer(1), 1, nil); err != nil {
			break
		}
		j[0].worker.Progress()
	}
	j.until(t, func() bool { return len(ended) == len(ops) })
	for _, o := range ops {
		if ended[o] != 1 || o.Err != nil && !errors.Is(o.Err, pm.ErrPeerClosed) {
			t.Errorf("ended %d times: %v", ended[o], o.Err)
		}
	}
	var sends, receives [20]tag.Op
	for i := range sends { // rendezvous with another peer: each gets its own bytes
		_ = j[0].ep.Send(&sends[i], peer(2), uint64(i), bytes.Repeat([]byte{byte(i)}, 50_000))
		_ = j[2].ep.Receive(&receives[i], tag.Criteria{Source: peer(0), Tag: uint64(i)}, make([]byte, 50_000))
	}
	for i := range receives {
		j.until(t, func() bool { return receives[i].Done() && sends[i].Done() })
		if r := &receives[i]; r.Err != nil || !bytes.Equal(r.Bytes, bytes.Repeat([]byte{byte(i)}, 50_000)) {
			t.Errorf("message %d: %v", i, r.Err)
		}
	}
}

// TestReceivesFromLostPeers: a receive that nothing can match any more is refused; the callback of
// a lost receive may begin others.
func TestReceivesFromLostPeers(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		var s, r, second tag.Op
		again := errors.New("not called")
		first := tag.Op{OnDone: func(*tag.Op) {
			again = j[0].ep.Receive(&r, tag.Criteria{Source: peer(1)}, nil)
			j[0].ep.Cancel(&second)
		}}
		c := tag.Criteria{Source: peer(1), Tag: 4}
		_ = j[0].ep.Receive(&first, c, nil)
		_ = j[0].ep.Receive(&second, c, nil)
		_ = j[1].ep.Send(&s, peer(0), 9, []byte("early"))
		j.until(t, func() bool { return s.Done() })
		if err := j[1].iface.Close(); err != nil {
			t.Fatal(err)
		}
		j.until(t, func() bool { return first.Done() && second.Done() })
		if !errors.Is(again, pm.ErrPeerClosed) || !errors.Is(second.Err, pm.ErrPeerClosed) {
			t.Errorf("%v, %v", again, second.Err)
		}
		got := make([]byte, 8)
		if err := j[0].ep.Receive(&r, tag.Criteria{Source: peer(1), Tag: 9}, got); err != nil || string(r.Bytes) != "early" {
			t.Errorf("what came before the loss: %v, %q", err, r.Bytes)
		}
		if err := j[0].ep.Receive(&r, tag.Criteria{Source: peer(50)}, nil); !errors.Is(err, pm.ErrRank) {
			t.Errorf("a receive from no rank: %v", err)
		}
	})
}

// TestLimitsBelowOneMessage: with limits that no message fits into, messages go one by one.
func TestLimitsBelowOneMessage(t *testing.T) {
	for name, shape := range localtest.Shapes {
		t.Run(name, func(t *testing.T) {
			j := start(t, shape[0], shape[1], tag.Settings{SendBytes: 1, PoolBytes: 1, EagerLocal: 64 << 10})
			const n, size = 200, 30_000
			refused, sent, got := 0, 0, 0
			var r tag.Op
			buf := make([]byte, size)
			j.until(t, func() bool {
				if sent < n {
					data := bytes.Repeat([]byte{byte(sent)}, size)
					switch err := j[0].ep.SendCopy(peer(1), uint64(sent), data, tag.SendOptions{}); {
					case err == nil:
						sent++
					case errors.Is(err, tag.ErrMemory):
						refused++
					default:
						t.Fatal(err)
					}
					clear(data) // it is the caller's again
				}
				if !r.Done() {
					return false
				}
				if r.Err != nil || r.Length > 0 && !bytes.Equal(r.Bytes, bytes.Repeat([]byte{byte(got - 1)}, size)) {
					t.Fatalf("message %d: %v", got-1, r.Err)
				}
				if got < n {
					_ = j[1].ep.Receive(&r, tag.Criteria{Source: peer(0), Tag: uint64(got)}, buf)
					got++
					return false
				}
				return true
			})
			if refused == 0 {
				t.Error("nothing was refused")
			}
		})
	}
}

func TestPorts(t *testing.T) {
	j := start(t, 1, 2, tag.Settings{})
	var s tag.Op
	to := tag.Peer{Rank: 1, Port: tag.Ports}
	if err := j[0].ep.Send(&s, to, 0, nil); !errors.Is(err, tag.ErrPort) {
		t.Error(err)
	}
	if err := j[0].ep.SendCopy(to, 0, nil, tag.SendOptions{}); !errors.Is(err, tag.ErrPort) {
		t.Error(err)
	}
	if err := j[0].ep.Send(&s, peer(9), 0, nil); !errors.Is(err, pm.ErrRank) {
		t.Error(err)
	}
}

// TestToSelf: a rank may send to itself.
func TestToSelf(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		for _, n := range []int{8, 100_000} {
			var s, r tag.Op
			data := localtest.RandomBytes(n)
			_ = j[0].ep.Receive(&r, tag.Criteria{Source: peer(0), Tag: 1}, make([]byte, n))
			if err := j[0].ep.Send(&s, peer(0), 1, data); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			err := j[0].ep.Wait(ctx, &s, &r)
			cancel()
			if err != nil || !bytes.Equal(r.Bytes, data) {
				t.Errorf("%d bytes: %v", n, err)
			}
		}
	})
}

// TestWaitForLost: Wait returns the error of what it waited for.
func TestWaitForLost(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		var r, hello tag.Op
		_ = j[0].ep.Receive(&r, tag.Criteria{Source: peer(1)}, nil)
		_ = j[0].ep.Send(&hello, peer(1), 0, nil)
		if !j[0].iface.Channel().SameNode(1) { // inside a node it is in the other's memory already
			j.until(t, func() bool { return j[1].ep.Probe(everything) != nil })
		}
		var closing sync.WaitGroup
		closing.Go(func() { _ = j[1].iface.Close() })
		defer closing.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := j[0].ep.Wait(ctx, &r); !errors.Is(err, pm.ErrPeerClosed) {
			t.Error(err)
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		var never tag.Op
		if err := j[0].ep.Receive(&never, everything, nil); err != nil {
			t.Fatal(err)
		}
		if err := j[0].ep.Wait(ended, &never); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestReceiverHasNoMemory: a receive into memory that is not there ends at both ends with an error,
// and the next message comes.
func TestReceiverHasNoMemory(t *testing.T) {
	const n = 1 << 20
	j := start(t, 2, 1, tag.Settings{})
	gone, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Munmap(gone); err != nil {
		t.Fatal(err)
	}
	var s, r tag.Op
	_ = j[1].ep.Receive(&r, everything, gone)
	_ = j[0].ep.Send(&s, peer(1), 1, make([]byte, n))
	j.until(t, func() bool { return r.Done() && s.Done() })
	if r.Err == nil || !errors.Is(s.Err, tag.ErrUnread) {
		t.Errorf("the receiver: %v, the sender: %v", r.Err, s.Err)
	}
	_ = j[1].ep.Receive(&r, everything, make([]byte, n))
	_ = j[0].ep.Send(&s, peer(1), 1, bytes.Repeat([]byte{7}, n))
	j.until(t, func() bool { return r.Done() && s.Done() })
	if r.Err != nil || s.Err != nil || r.Bytes[n-1] != 7 {
		t.Errorf("the next message: %v, %v", r.Err, s.Err)
	}
}
