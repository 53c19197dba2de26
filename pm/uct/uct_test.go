package uct_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"score/pm"
	"score/pm/local/localtest"
	"score/pm/mem/atomics"
	"score/pm/uct"
	"testing"
)

func TestActiveMessages(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		var got [][]byte
		j[1].iface.Handle(firstID, func(p *uct.Packet) {
			data, err := p.Bytes()
			if err != nil || p.Source != 0 || p.Arg != uint32(len(got)) || p.From != 3 || p.To != 5 || p.Bits != 7 {
				t.Errorf("packet %+v: %v", p.Header, err)
			}
			got = append(got, bytes.Clone(data))
		})
		ep := j.ep(t, 0, 1)
		var want [][]byte
		for i, size := range []int{0, 1, 8, 40, 41, 5000, j[0].iface.Attr().MaxMessage} {
			data := localtest.RandomBytes(size)
			want = append(want, data)
			h := uct.Header{ID: firstID, Ports: uct.Ports{To: 5, From: 3}, Bits: 7, Arg: uint32(i)}
			j.retry(t, func() error { return ep.Send(h, data) })
		}
		j.until(t, func() bool { return len(got) == len(want) })
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				t.Errorf("message %d of %d bytes differs", i, len(want[i]))
			}
		}
		if err := ep.Send(uct.Header{ID: firstID}, make([]byte, j[0].iface.Attr().MaxMessage+1)); !errors.Is(err, uct.ErrTooLong) {
			t.Errorf("a message too long: %v", err)
		}
	})
}

func TestPutAndGet(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		const size = 3 << 20
		for name, r := range regions(t, j, size) {
			ep := j.ep(t, 0, 1)
			for _, n := range []int{0, 1, 8, 1000, 70_000, 1 << 20} {
				for turn := range 3 { // the first asks for the window
					t.Run(fmt.Sprintf("%s/%d/%d", name, n, turn), func(t *testing.T) {
						at := uct.Remote{Key: r.Key(), Offset: 4096}
						data, back := localtest.RandomBytes(n), make([]byte, n)
						var d done
						j.retry(t, func() error { return ep.Put(data, at, &d) })
						j.retry(t, func() error { return ep.Get(back, at, &d) })
						j.until(t, func() bool { return d.n == 2 })
						if d.err != nil || !bytes.Equal(r.Bytes()[4096:4096+n], data) || !bytes.Equal(back, data) {
							t.Errorf("%d bytes: %v", n, d.err)
						}
					})
				}
			}
			if counts := j[0].iface.Counts(); name == "window" && ep.Local() != (counts.Direct > 0) {
				t.Errorf("window: %d operations by load and store", counts.Direct)
			}
		}
	})
}

func TestOperationsFailWithTheirReason(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		readOnly, err := j[1].md.Register(make([]byte, 100), uct.RemoteRead)
		if err != nil {
			t.Fatal(err)
		}
		all := regions(t, j, 4096)
		closed := all["window"]
		closedKey := closed.Key()
		ep := j.ep(t, 0, 1)
		var warm done
		for range 3 {
			j.retry(t, func() error { return ep.Put([]byte{1}, uct.Remote{Key: closedKey}, &warm) })
			j.until(t, ep.Quiet)
		}
		if err := closed.Close(); err != nil {
			t.Fatal(err)
		}
		word := make([]byte, 8)
		long := make([]byte, 200_000)
		sum := uct.AtomicKind{Op: atomics.Sum, Type: atomics.Uint64}
		for name, c := range map[string]struct {
			begin func(d *done) error
			want  error
		}{
			"put, no key":  {func(d *done) error { return ep.Put(word, uct.Remote{Key: 99}, d) }, uct.ErrKey},
			"get, no key":  {func(d *done) error { return ep.Get(word, uct.Remote{Key: 99}, d) }, uct.ErrKey},
			"long, no key": {func(d *done) error { return ep.Put(long, uct.Remote{Key: 99}, d) }, uct.ErrKey},
			"put, closed":  {func(d *done) error { return ep.Put(word, uct.Remote{Key: closedKey}, d) }, uct.ErrKey},
			"put, beyond":  {func(d *done) error { return ep.Put(word, uct.Remote{Key: all["other memory"].Key(), Offset: 4090}, d) }, uct.ErrRange},
			"get, far beyond": {func(d *done) error {
				return ep.Get(word, uct.Remote{Key: all["other memory"].Key(), Offset: 1<<64 - 4}, d)
			}, uct.ErrRange},
			"put, read-only":    {func(d *done) error { return ep.Put(word, uct.Remote{Key: readOnly.Key()}, d) }, uct.ErrAccess},
			"atomic, read-only": {func(d *done) error { return ep.Atomic(sum, word, uct.Remote{Key: readOnly.Key()}, d) }, uct.ErrAccess},
			"atomic, unaligned": {func(d *done) error {
				return ep.Atomic(sum, word, uct.Remote{Key: all["other memory"].Key(), Offset: 3}, d)
			}, uct.ErrOperation},
		} {
			t.Run(name, func(t *testing.T) {
				var d done
				j.retry(t, func() error { return c.begin(&d) })
				j.until(t, func() bool { return d.n == 1 })
				if !errors.Is(d.err, c.want) {
					t.Errorf("%v, want %v", d.err, c.want)
				}
			})
		}
		var d done // the way still works
		j.retry(t, func() error { return ep.Get(word, uct.Remote{Key: readOnly.Key()}, &d) })
		j.until(t, func() bool { return d.n == 1 })
		if d.err != nil {
			t.Error(d.err)
		}
	})
}

func TestAtomics(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		for name, r := range regions(t, j, 4096) {
			t.Run(name, func(t *testing.T) {
				ep := j.ep(t, 0, 1)
				at := uct.Remote{Key: r.Key(), Offset: 16}
				sum := uct.AtomicKind{Op: atomics.Sum, Type: atomics.Uint64}
				swap := uct.AtomicKind{Type: atomics.Uint64, Swap: true}
				word := func(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
				for i := range uint64(100) {
					result := make([]byte, 8)
					var d done
					j.retry(t, func() error { return ep.Atomic(sum, word(2), at, &d) })
					j.retry(t, func() error { return ep.FetchAtomic(sum, word(1), nil, result, at, &d) })
					j.until(t, func() bool { return d.n == 2 })
					if got := binary.LittleEndian.Uint64(result); d.err != nil || got != 3*i+2 {
						t.Fatalf("turn %d: fetched %d: %v", i, got, d.err)
					}
				}
				result := make([]byte, 8)
				var d done
				j.retry(t, func() error { return ep.FetchAtomic(swap, word(7), word(300), result, at, &d) })
				j.until(t, func() bool { return d.n == 1 })
				if got := binary.LittleEndian.Uint64(r.Bytes()[16:]); d.err != nil || got != 7 {
					t.Errorf("compare-and-swap left %d: %v", got, d.err)
				}
			})
		}
	})
}

// TestOrder: a get sees what puts and atomics before it did, whatever way each takes.
func TestOrder(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		for name, r := range regions(t, j, 1<<20) {
			t.Run(name, func(t *testing.T) {
				ep := j.ep(t, 0, 1)
				for turn := range 50 {
					n := []int{8, 3000, 200_000}[turn%3]
					data, back := localtest.RandomBytes(n), make([]byte, n)
					var d done
					at := uct.Remote{Key: r.Key()}
					j.retry(t, func() error { return ep.Put(data, at, nil) })
					j.retry(t, func() error { return ep.Get(back, at, &d) })
					j.until(t, func() bool { return d.n == 1 })
					if d.err != nil || !bytes.Equal(back, data) {
						t.Fatalf("turn %d: the get did not see the put: %v", turn, d.err)
					}
				}
			})
		}
	})
}

func TestImmediateData(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		r, err := j[1].md.Register(make([]byte, 1<<20), uct.RemoteWrite)
		if err != nil {
			t.Fatal(err)
		}
		var got []uint64
		j[1].iface.HandleData(func(ep *uct.EP, h uct.Ports, data uint64, length int) {
			got = append(got, uint64(ep.Rank()), uint64(h.From), uint64(h.To), data, uint64(length))
			if !bytes.Equal(r.Bytes()[length-4:length], []byte("tail")) {
				t.Error("the data came before the bytes")
			}
		})
		ep := j.ep(t, 0, 1)
		var d done
		for _, n := range []int{4, 20_000, 300_000} {
			data := append(make([]byte, n-4), "tail"...)
			j.retry(t, func() error { return ep.PutData(data, uct.Remote{Key: r.Key(), Port: 9, From: 3}, uint64(n)+1, &d) })
			j.until(t, func() bool { return ep.Quiet() })
		}
		if want := fmt.Sprint([]uint64{0, 3, 9, 5, 4, 0, 3, 9, 20_001, 20_000, 0, 3, 9, 300_001, 300_000}); fmt.Sprint(got) != want || d.err != nil {
			t.Errorf("%v, want %v: %v", got, want, d.err)
		}
	})
}

func TestFlush(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		r, err := j[1].md.Register(make([]byte, 1<<20), uct.RemoteAll)
		if err != nil {
			t.Fatal(err)
		}
		ep := j.ep(t, 0, 1)
		data := localtest.RandomBytes(1 << 20)
		j.retry(t, func() error { return ep.Put(data, uct.Remote{Key: r.Key()}, nil) })
		var d done
		j.retry(t, func() error { return ep.Flush(&d) })
		j.until(t, func() bool { return d.n == 1 })
		if d.err != nil || !bytes.Equal(r.Bytes(), data) {
			t.Error("flushed before the put was served", d.err)
		}
	})
}

func TestClosedPeer(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		ep := j.ep(t, 0, 1)
		var d done
		j.retry(t, func() error { return ep.Get(make([]byte, 8), uct.Remote{Key: 1}, &d) })
		j.until(t, func() bool { return d.n == 1 })
		var lost error
		j[0].iface.HandleGone(func(_ *uct.EP, err error) { lost = err })
		j.retry(t, func() error { return ep.Get(make([]byte, 8), uct.Remote{Key: 1}, &d) })
		if err := j[1].worker.Close(); err != nil {
			t.Fatal(err)
		}
		job{j[0]}.until(t, func() bool { return d.n == 2 })
		if !errors.Is(lost, pm.ErrPeerClosed) || !errors.Is(d.err, pm.ErrPeerClosed) {
			t.Errorf("lost %v, completed %v", lost, d.err)
		}
		if err := ep.Send(uct.Header{ID: firstID}, nil); !errors.Is(err, pm.ErrPeerClosed) {
			t.Errorf("send to a closed peer: %v", err)
		}
	})
}

// atRetry is an operation that is called when Progress has drained the inbox.
type atRetry func() error

func (f atRetry) Retry() error { return f() }

// A peer that sends its last message and closes after the inbox was drained, and before something
// is sent to it: the message comes before the peer is reported as lost.
func TestLastMessageOfAClosedPeer(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		came, gone, cameBefore := false, false, false
		j[0].iface.Handle(firstID, func(*uct.Packet) { came = true })
		j[0].iface.HandleGone(func(*uct.EP, error) { gone, cameBefore = true, came })
		back := j.ep(t, 1, 0)
		j.retry(t, func() error { return back.Send(uct.Header{ID: firstID}, nil) })
		j.until(t, func() bool { return came })
		came = false
		ep := j.ep(t, 0, 1)
		ep.Pend(atRetry(func() error {
			j.retry(t, func() error { return back.Send(uct.Header{ID: firstID}, nil) })
			if err := j[1].worker.Close(); err != nil {
				t.Error(err)
			}
			return ep.Send(uct.Header{ID: firstID}, nil)
		}))
		job{j[0]}.until(t, func() bool { return gone })
		if !cameBefore {
			t.Error("the peer was lost before its last message came")
		}
	})
}

func TestNoAllocationPerOperation(t *testing.T) {
	j := start(t, 1, 2)
	j[1].iface.Handle(firstID, func(*uct.Packet) {})
	all := regions(t, j, 1<<20)
	ep := j.ep(t, 0, 1)
	var d done
	data := make([]byte, 64<<10)
	fetched := make([]byte, 8)
	sum := uct.AtomicKind{Op: atomics.Sum, Type: atomics.Uint64}
	operations := map[string]func() error{
		"message": func() error { return ep.Send(uct.Header{ID: firstID}, data[:8]) },
		"put":     func() error { return ep.Put(data[:8], uct.Remote{Key: all["other memory"].Key()}, &d) },
		"long":    func() error { return ep.Put(data, uct.Remote{Key: all["other memory"].Key()}, &d) },
		"get":     func() error { return ep.Get(data[:8], uct.Remote{Key: all["other memory"].Key()}, &d) },
		"window":  func() error { return ep.Put(data[:8], uct.Remote{Key: all["window"].Key()}, &d) },
		"fetch": func() error {
			return ep.FetchAtomic(sum, data[:8], nil, fetched, uct.Remote{Key: all["other memory"].Key()}, &d)
		},
	}
	for name, begin := range operations {
		once := func() {
			if err := begin(); err != nil {
				t.Fatal(name, err)
			}
			for j[1].worker.Progress() > 0 || !ep.Quiet() {
				j[0].worker.Progress()
			}
		}
		for range 100 {
			once()
		}
		if n := testing.AllocsPerRun(200, once); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
