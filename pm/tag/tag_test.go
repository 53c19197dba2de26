package tag_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"score/pm"
	"score/pm/local/localtest"
	"score/pm/tag"
	"score/pm/uct"
	"strconv"
	"testing"
	"time"
)

// rank is a rank of a job that is in this process with all others.
type rank struct {
	worker *uct.Worker
	iface  *uct.Iface
	stack  *tag.Stack
	ep     *tag.Endpoint
}

type job []*rank

func start(t testing.TB, nodes, perNode int, settings tag.Settings) job {
	t.Helper()
	var j job
	for _, ch := range localtest.Start(t, nodes, perNode, pm.DefaultSettings()).Channels {
		j = append(j, newRank(t, ch, settings))
	}
	return j
}

func newRank(t testing.TB, ch *pm.Channel, settings tag.Settings) *rank {
	t.Helper()
	md := uct.NewMD(0)
	r := &rank{worker: uct.NewWorker()}
	r.iface = r.worker.Open(ch, md)
	r.stack = tag.NewStack(r.iface, md, settings)
	var err error
	if r.ep, err = r.stack.Open(0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = r.worker.Close() // a test may have closed it
		if err := md.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

const patience = 20 * time.Second

// until makes progress everywhere until done says so.
func (j job) until(t testing.TB, done func() bool) {
	t.Helper()
	localtest.Until(t, func() {
		for _, r := range j {
			r.worker.Progress()
		}
	}, done)
}

func eachShape(t *testing.T, f func(t *testing.T, j job)) {
	localtest.EachShape(t, func(t *testing.T, nodes, perNode int) { f(t, start(t, nodes, perNode, tag.Settings{})) })
}

func peer(rank int) tag.Peer { return tag.Peer{Rank: uint32(rank)} }

var lengths = []int{0, 1, 8, 40, 5000, 16 << 10, 16<<10 + 1, 64 << 10, 1 << 20, 3<<20 + 7}

func TestAnyLengthExpectedAndNot(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		for _, n := range lengths {
			for _, expected := range []bool{true, false} {
				for _, sync := range []bool{false, true} {
					data, got := localtest.RandomBytes(n), make([]byte, n+10)
					var s, r tag.Op
					criteria := tag.Criteria{Source: peer(0), Tag: 0xab}
					send := func() {
						opts := tag.SendOptions{Data: uint64(n), HasData: n%2 == 1, Sync: sync}
						if err := j[0].ep.SendWith(&s, peer(1), 0xab, data, opts); err != nil {
							t.Fatal(err)
						}
					}
					receive := func() {
						if err := j[1].ep.Receive(&r, criteria, got); err != nil {
							t.Fatal(err)
						}
					}
					if expected {
						receive()
						send()
					} else {
						send()
						j.until(t, func() bool { return j[1].ep.Probe(criteria) != nil })
						if sync && s.Done() {
							t.Error("a synchronous send was done without its receive")
						}
						receive()
					}
					j.until(t, func() bool { return s.Done() && r.Done() })
					if r.Err != nil || s.Err != nil || r.Length != n || !bytes.Equal(r.Bytes, data) || r.From != peer(0) ||
						r.Tag != 0xab || r.HasData != (n%2 == 1) || r.HasData && r.Data != uint64(n) {
						t.Fatalf("%d bytes, expected %v: sent %v, received %+v", n, expected, s.Err, r.Result)
					}
				}
			}
		}
	})
}

func TestTruncated(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		for _, n := range []int{100, 100_000} {
			data, got := localtest.RandomBytes(n), make([]byte, 60)
			var s, r tag.Op
			_ = j[1].ep.Receive(&r, tag.Criteria{Source: tag.AnyPeer}, got)
			_ = j[0].ep.Send(&s, peer(1), 0, data)
			j.until(t, func() bool { return s.Done() && r.Done() })
			if !errors.Is(r.Err, tag.ErrTruncated) || r.Length != n || !bytes.Equal(got, data[:60]) || s.Err != nil {
				t.Errorf("%d bytes into 60: %+v, sent %v", n, r.Result, s.Err)
			}
		}
	})
}

func TestCancelProbeAndClaim(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		var s, r tag.Op
		c := tag.Criteria{Source: tag.AnyPeer, Tag: 5, Ignore: 2}
		_ = j[1].ep.Receive(&r, c, make([]byte, 10))
		if err := j[1].ep.Receive(&r, c, nil); !errors.Is(err, tag.ErrBusy) {
			t.Errorf("a receive that is under way: %v", err)
		}
		if !j[1].ep.Cancel(&r) || !errors.Is(r.Err, tag.ErrCanceled) || j[1].ep.Cancel(&r) {
			t.Errorf("canceled: %v", r.Err)
		}
		for _, n := range []int{20, 300_000} {
			data := localtest.RandomBytes(n)
			_ = j[0].ep.Send(&s, peer(1), 7, data)
			var h *tag.Held
			j.until(t, func() bool { h = j[1].ep.Claim(c); return h != nil })
			if h.Length() != n || h.Tag() != 7 || h.From != peer(0) || j[1].ep.Probe(c) != nil {
				t.Errorf("claimed %d bytes with tag %d", h.Length(), h.Tag())
			}
			got := make([]byte, n)
			_ = j[1].ep.ReceiveHeld(&r, h, got)
			j.until(t, func() bool { return s.Done() && r.Done() })
			if r.Err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d bytes: %v", n, r.Err)
			}
			_ = j[0].ep.Send(&s, peer(1), 7, data)
			j.until(t, func() bool { h = j[1].ep.Claim(c); return h != nil })
			j[1].ep.Discard(h)
			j.until(t, s.Done)
		}
	})
}

func TestSpacesAndPortsDoNotMix(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		third, err := j[1].stack.Open(3)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j[1].stack.Open(3); !errors.Is(err, tag.ErrPort) {
			t.Errorf("a port that is open: %v", err)
		}
		all := tag.Criteria{Source: tag.AnyPeer, Ignore: ^uint64(0)}
		untagged := all
		untagged.Space = tag.Untagged
		var s, a, b, c tag.Op
		_ = j[1].ep.Receive(&a, all, make([]byte, 8))
		_ = j[1].ep.Receive(&b, untagged, make([]byte, 8))
		_ = third.Receive(&c, all, make([]byte, 8))
		_ = j[0].ep.SendWith(&s, peer(1), 0, []byte("untagged"), tag.SendOptions{Space: tag.Untagged})
		j.until(t, b.Done)
		_ = j[0].ep.Send(&s, tag.Peer{Rank: 1, Port: 3}, 0, []byte("port3"))
		j.until(t, c.Done)
		if a.Done() || string(b.Bytes) != "untagged" || string(c.Bytes) != "port3" {
			t.Errorf("%q %q", b.Bytes, c.Bytes)
		}
	})
}

func TestManyIntoOneBuffer(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		var got [][]byte
		var last int
		r := tag.Op{OnDone: func(o *tag.Op) {
			got = append(got, bytes.Clone(o.Bytes))
			if o.Last {
				last++
			}
			if o.Err != nil {
				t.Error(o.Err)
			}
		}}
		untagged := tag.Criteria{Space: tag.Untagged, Source: tag.AnyPeer}
		var want [][]byte
		send := func(n int) {
			data := localtest.RandomBytes(n)
			want = append(want, data)
			var s tag.Op
			_ = j[0].ep.SendWith(&s, peer(1), 0, data, tag.SendOptions{Space: tag.Untagged})
			j.until(t, func() bool { return s.Done() && len(got) == len(want) })
		}
		_ = j[1].ep.ReceiveMany(&r, untagged, make([]byte, 200_000), 1000)
		for _, n := range []int{10, 0, 150_000, 48_000} {
			send(n)
		}
		if last != 0 {
			t.Fatal("the buffer was given back early")
		}
		send(1500)
		if last != 1 || !r.Done() {
			t.Fatalf("last %d, done %v", last, r.Done())
		}
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				t.Errorf("message %d differs", i)
			}
		}
	})
}

// TestUnexpectedMessagesAreBounded: a flood that nobody receives takes no more memory than the
// settings say, ends for the sender as sends under way, and arrives when it is asked for.
func TestUnexpectedMessagesAreBounded(t *testing.T) {
	for name, shape := range localtest.Shapes {
		t.Run(name, func(t *testing.T) {
			const n, size = 2000, 4000
			j := start(t, shape[0], shape[1], tag.Settings{PoolBytes: 256 << 10})
			sends := make([]tag.Op, n)
			for i := range sends {
				if err := j[0].ep.Send(&sends[i], peer(1), uint64(i), bytes.Repeat([]byte{byte(i)}, size)); err != nil {
					t.Fatal(err)
				}
				j[1].worker.Progress()
				j[0].worker.Progress()
			}
			last := tag.Criteria{Source: peer(0), Tag: n - 1}
			j.until(t, func() bool { return j[1].ep.Probe(last) != nil })
			if held := j[1].stack.Counts().HeldBytes; held > 300<<10 || held == 0 {
				t.Errorf("%d bytes are kept", held)
			}
			var r tag.Op
			for i := n - 1; i >= 0; i-- {
				got := make([]byte, size)
				_ = j[1].ep.Receive(&r, tag.Criteria{Source: peer(0), Tag: uint64(i)}, got)
				j.until(t, r.Done)
				if r.Err != nil || got[size-1] != byte(i) {
					t.Fatalf("message %d: %v", i, r.Err)
				}
			}
			j.until(t, func() bool {
				for i := range sends {
					if !sends[i].Done() {
						return false
					}
				}
				return true
			})
			if held := j[1].stack.Counts().HeldBytes; held != 0 {
				t.Errorf("%d bytes are kept at the end", held)
			}
		})
	}
}

// TestShortMessagesGoBeyondTheWindow: of a flood of short messages none is pulled. Each ends for
// its sender when a receive has it, in whatever order they are received.
func TestShortMessagesGoBeyondTheWindow(t *testing.T) {
	for name, sync := range map[string]bool{"sent": false, "sent synchronously": true} {
		t.Run(name, func(t *testing.T) {
			eachShape(t, func(t *testing.T, j job) {
				const n, size = 2000, 100
				sends := make([]tag.Op, n)
				for i := range sends {
					data := bytes.Repeat([]byte{byte(i)}, size)
					o := tag.SendOptions{Data: uint64(i), HasData: i%2 == 1, Sync: sync}
					if err := j[0].ep.SendWith(&sends[i], peer(1), uint64(i), data, o); err != nil {
						t.Fatal(err)
					}
				}
				last := tag.Criteria{Source: peer(0), Tag: n - 1}
				j.until(t, func() bool { return j[1].ep.Probe(last) != nil })
				wait := 0
				for i := range sends {
					if !sends[i].Done() {
						wait++
					}
				}
				if wait < int(j[0].stack.Counts().Beyond) {
					t.Errorf("%d sends wait for their receives, %+v", wait, j[0].stack.Counts())
				}
				var r tag.Op
				for k := range n {
					i := k / 2 // the oldest and the latest in turn
					if k%2 == 1 {
						i = n - 1 - k/2
					}
					got := make([]byte, size)
					_ = j[1].ep.Receive(&r, tag.Criteria{Source: peer(0), Tag: uint64(i)}, got)
					j.until(t, func() bool { return r.Done() && sends[i].Done() })
					if r.Err != nil || sends[i].Err != nil || got[size-1] != byte(i) || r.HasData != (i%2 == 1) || r.HasData && r.Data != uint64(i) {
						t.Fatalf("message %d: %v, %v, %+v", i, r.Err, sends[i].Err, r.Result)
					}
				}
				c := j[0].stack.Counts()
				if c.Offered != 0 || c.Beyond == 0 || c.Eager+c.Beyond != n {
					t.Errorf("%+v", c)
				}
				if held := j[1].stack.Counts().HeldBytes; held != 0 {
					t.Errorf("%d bytes are kept at the end", held)
				}
			})
		})
	}
}

// TestSendsInTurnAreNotPulled: a program that waits for the end of each send, before the next,
// finds the window full again and again; none of its messages of a few KiB is pulled.
func TestSendsInTurnAreNotPulled(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		const n, size = 500, 4000
		var s, r tag.Op
		got := 0
		for i := range n {
			if err := j[0].ep.Send(&s, peer(1), uint64(i), bytes.Repeat([]byte{byte(i)}, size)); err != nil {
				t.Fatal(err)
			}
			for ; !s.Done(); got++ {
				buf := make([]byte, size)
				_ = j[1].ep.Receive(&r, tag.Criteria{Source: peer(0), Tag: uint64(got)}, buf)
				j.until(t, r.Done)
				if r.Err != nil || buf[size-1] != byte(got) {
					t.Fatalf("message %d: %v", got, r.Err)
				}
				j[0].worker.Progress()
				if got == i {
					j.until(t, s.Done)
				}
			}
		}
		if c := j[0].stack.Counts(); c.Offered != 0 || c.Beyond == 0 {
			t.Errorf("%+v", c)
		}
	})
}

// TestAnswersCarryTheLimit: where each message is answered by one as long, no other messages are
// needed but those by which the windows grow.
func TestAnswersCarryTheLimit(t *testing.T) {
	const n, growth = 50, 16
	for _, size := range []int{8, 8 << 10, 16 << 10, 40_000, 60_000} {
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			eachShape(t, func(t *testing.T, j job) {
				for i := range 2 * n {
					var s, r tag.Op
					from, to := i%2, 1-i%2
					_ = j[to].ep.Receive(&r, tag.Criteria{Source: peer(from), Tag: uint64(i)}, make([]byte, size))
					_ = j[from].ep.Send(&s, peer(to), uint64(i), make([]byte, size))
					j.until(t, func() bool { return s.Done() && r.Done() })
					if s.Err != nil || r.Err != nil {
						t.Fatal(s.Err, r.Err)
					}
				}
				for i, r := range j {
					if got := r.iface.Counts().Received; got > n+growth {
						t.Errorf("rank %d got %d messages, %d are data", i, got, n)
					}
				}
			})
		})
	}
}

// TestCopiesAreBounded: copies of messages without bytes count, too, until they are received.
func TestCopiesAreBounded(t *testing.T) {
	j := start(t, 2, 1, tag.Settings{SendBytes: 64 << 10})
	const most = 10_000
	sent, refused := 0, false
	for ; sent < most && !refused; sent++ {
		err := j[0].ep.SendCopy(peer(1), 1, nil, tag.SendOptions{})
		if refused = errors.Is(err, tag.ErrMemory); err != nil && !refused {
			t.Fatal(err)
		}
		j[1].worker.Progress()
		j[0].worker.Progress()
	}
	if !refused {
		t.Fatalf("%d messages wait", sent)
	}
	var r tag.Op
	if err := j[1].ep.Receive(&r, everything, nil); err != nil {
		t.Fatal(err)
	}
	for range sent - 2 { // the last was refused
		j.until(t, r.Done)
		if err := j[1].ep.Receive(&r, everything, nil); err != nil {
			t.Fatal(err)
		}
	}
	j.until(t, func() bool { return j[0].ep.SendCopy(peer(1), 1, nil, tag.SendOptions{}) == nil })
}

// TestRandom: both ways at once, all lengths, wildcards; each message arrives once, in order.
func TestRandom(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		const n = 1500
		type side struct {
			sent, got int
			recv      tag.Op
			buf       []byte
		}
		sides := [2]*side{{buf: make([]byte, 200_000)}, {buf: make([]byte, 200_000)}}
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 0))
		message := func(from, i int) []byte {
			r := rand.New(rand.NewPCG(uint64(from), uint64(i)))
			data := make([]byte, []int{8, 100, 3000, 20_000, 150_000}[r.IntN(5)]*(1+r.IntN(100))/100)
			for k := 0; k < len(data); k += 97 {
				data[k] = byte(r.Uint32())
			}
			return data
		}
		under := map[*tag.Op]bool{}
		for sides[0].got < n || sides[1].got < n {
			for me, s := range sides {
				other := 1 - me
				if s.sent < n && random.IntN(3) > 0 && len(under) < 50 {
					o := &tag.Op{OnDone: func(o *tag.Op) { delete(under, o) }}
					under[o] = true
					opts := tag.SendOptions{Sync: random.IntN(5) == 0}
					if err := j[me].ep.SendWith(o, peer(other), uint64(s.sent), message(me, s.sent), opts); err != nil {
						t.Fatal(err)
					}
					s.sent++
				}
				if s.recv.Done() && s.got < n && s.recv.Tag == 0 && s.recv.Context == 0 {
					c := tag.Criteria{Source: peer(other), Ignore: ^uint64(0)}
					if random.IntN(2) == 0 {
						c.Source = tag.AnyPeer
					}
					s.recv.Context = 1
					_ = j[me].ep.Receive(&s.recv, c, s.buf)
				}
				j[me].worker.Progress()
				if s.recv.Context == 1 && s.recv.Done() {
					want := message(other, s.got)
					if s.recv.Err != nil || s.recv.Tag != uint64(s.got) || !bytes.Equal(s.recv.Bytes, want) {
						t.Fatalf("message %d of rank %d: tag %d, %d bytes: %v", s.got, other, s.recv.Tag, len(s.recv.Bytes), s.recv.Err)
					}
					s.got++
					s.recv = tag.Op{}
				}
			}
		}
	})
}

func TestPeerCloses(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		var named, any, s, short, first tag.Op
		_ = j[0].ep.Receive(&first, tag.Criteria{Source: peer(1), Tag: 1}, nil)
		_ = j[1].ep.Send(&s, peer(0), 1, nil)
		j.until(t, func() bool { return first.Done() && s.Done() })
		_ = j[0].ep.Receive(&named, tag.Criteria{Source: peer(1)}, nil)
		_ = j[0].ep.Receive(&any, tag.Criteria{Source: tag.AnyPeer}, nil)
		_ = j[0].ep.SendWith(&s, peer(1), 0, make([]byte, 100_000), tag.SendOptions{Sync: true})
		_ = j[0].ep.SendWith(&short, peer(1), 0, make([]byte, 8), tag.SendOptions{Sync: true})
		if err := j[1].worker.Close(); err != nil {
			t.Fatal(err)
		}
		job{j[0]}.until(t, func() bool { return named.Done() && s.Done() && short.Done() })
		if !errors.Is(named.Err, pm.ErrPeerClosed) || !errors.Is(s.Err, pm.ErrPeerClosed) || !errors.Is(short.Err, pm.ErrPeerClosed) || any.Done() {
			t.Errorf("receive %v, sends %v and %v, any %v", named.Err, s.Err, short.Err, any.Done())
		}
	})
}

func TestNoAllocationPerMessage(t *testing.T) {
	for name, shape := range localtest.Shapes {
		j := start(t, shape[0], shape[1], tag.Settings{})
		for _, n := range []int{8, 4000, 100_000} {
			data, got := make([]byte, n), make([]byte, n)
			var s, r tag.Op
			for _, sync := range []bool{false, true} {
				once := func() {
					_ = j[1].ep.Receive(&r, tag.Criteria{Source: tag.AnyPeer, Tag: 1}, got)
					_ = j[0].ep.SendWith(&s, peer(1), 1, data, tag.SendOptions{Sync: sync})
					for !s.Done() || !r.Done() {
						j[0].worker.Progress()
						j[1].worker.Progress()
					}
				}
				for range 100 {
					once()
				}
				if allocs := testing.AllocsPerRun(100, once); allocs != 0 {
					t.Errorf("%s, %d bytes, synchronous %v: %v allocations", name, n, sync, allocs)
				}
			}
		}
	}
}

// TestReceiverLeavesAtOnce: a receiver that has the bytes closes before their sender has looked
// once. The sender still learns that they are there.
func TestReceiverLeavesAtOnce(t *testing.T) {
	j := start(t, 1, 2, tag.Settings{})
	data, got := localtest.RandomBytes(4<<20), make([]byte, 4<<20)
	var s, r tag.Op
	if err := errors.Join(
		j[1].ep.Receive(&r, tag.Criteria{Source: peer(0), Tag: 1}, got), j[0].ep.Send(&s, peer(1), 1, data)); err != nil {
		t.Fatal(err)
	}
	job{j[1]}.until(t, r.Done)
	if err := j[1].worker.Close(); err != nil {
		t.Fatal(err)
	}
	job{j[0]}.until(t, s.Done)
	if r.Err != nil || s.Err != nil || !bytes.Equal(got, data) {
		t.Errorf("receiver %v, sender %v", r.Err, s.Err)
	}
}

// BenchmarkMessage is what a message costs besides the transfer of its cache lines: both ends are
// one goroutine.
func BenchmarkMessage(b *testing.B) {
	for _, n := range []int{8, 1024, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			j := start(b, 1, 2, tag.Settings{})
			data, got := make([]byte, n), make([]byte, n)
			var s, r tag.Op
			b.SetBytes(int64(n))
			for b.Loop() {
				_ = j[1].ep.Receive(&r, tag.Criteria{Source: peer(0), Tag: 1}, got)
				_ = j[0].ep.Send(&s, peer(1), 1, data)
				for !r.Done() || !s.Done() { // a rendezvous needs both ends
					j[1].worker.Progress()
					j[0].worker.Progress()
				}
			}
		})
	}
}
