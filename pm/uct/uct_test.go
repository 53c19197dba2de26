package uct_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"score/pm"
	"score/pm/local/localtest"
	"score/pm/mem/atomics"
	"score/pm/uct"
	"testing"
	"time"
)

// rank is a rank of a job that is in this process with all others.
type rank struct {
	worker *uct.Worker
	md     *uct.MD
	iface  *uct.Iface
}

type job []*rank

// start starts a job on so many nodes, with so many ranks each.
func start(t testing.TB, nodes, perNode int) job {
	t.Helper()
	return startWith(t, nodes, perNode, pm.DefaultSettings())
}

func startWith(t testing.TB, nodes, perNode int, settings pm.Settings) job {
	t.Helper()
	var j job
	for _, ch := range localtest.Start(t, nodes, perNode, settings).Channels {
		r := &rank{worker: uct.NewWorker(), md: uct.NewMD(0)}
		r.iface = r.worker.Open(ch, r.md)
		t.Cleanup(func() {
			_ = r.worker.Close() // a test may have closed it
			if err := r.md.Close(); err != nil {
				t.Error(err)
			}
		})
		j = append(j, r)
	}
	return j
}

// ep is the way from one rank to another.
func (j job) ep(t testing.TB, from, to int) *uct.EP {
	t.Helper()
	ep, err := j[from].iface.EP(to)
	if err != nil {
		t.Fatal(err)
	}
	return ep
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

// retry begins an operation, with progress while resources are short.
func (j job) retry(t testing.TB, begin func() error) {
	t.Helper()
	j.until(t, func() bool {
		err := begin()
		if err != nil && !errors.Is(err, uct.ErrAgain) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// done counts completions.
type done struct {
	n   int
	err error
}

func (d *done) Complete(err error) {
	d.n++
	d.err = errors.Join(d.err, err)
}

const firstID = uct.FirstID

// shapes are the ways between ranks 0 and 1.
var shapes = map[string][2]int{"one node": {1, 2}, "two nodes": {2, 1}}

func eachShape(t *testing.T, f func(t *testing.T, j job)) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) { f(t, start(t, shape[0], shape[1])) })
	}
}

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
			data := randomBytes(size)
			want = append(want, data)
			h := uct.Header{ID: firstID, From: 3, To: 5, Bits: 7, Arg: uint32(i)}
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

func randomBytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}

// regions makes memory of rank 1 of both kinds.
func regions(t *testing.T, j job, size int) map[string]*uct.Region {
	t.Helper()
	window, err := j[1].md.Alloc(size, uct.RemoteAll)
	if err != nil {
		t.Fatal(err)
	}
	other, err := j[1].md.Register(make([]byte, size), uct.RemoteAll)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*uct.Region{"window": window, "other memory": other}
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
						data, back := randomBytes(n), make([]byte, n)
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
					data, back := randomBytes(n), make([]byte, n)
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
		j[1].iface.HandleData(func(ep *uct.EP, h uct.Header, data uint64, length int) {
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

func TestPull(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		window, err := j[1].md.Alloc(1<<20, uct.RemoteRead)
		if err != nil {
			t.Fatal(err)
		}
		for name, source := range map[string][]byte{"window": window.Bytes(), "other memory": make([]byte, 1<<20)} {
			copy(source, randomBytes(len(source)))
			for turn := range 3 {
				from := j[1].md.Expose(source)
				got := make([]byte, len(source))
				var d done
				ep := j.ep(t, 0, 1)
				j.retry(t, func() error { return ep.Pull(got, from, &d) })
				j.until(t, func() bool { return d.n == 1 })
				j[1].md.Conceal(from)
				if d.err != nil || !bytes.Equal(got, source) {
					t.Errorf("%s, turn %d: %v", name, turn, d.err)
				}
			}
		}
	})
}

// TestPullFromBusyPeer: the owner of the bytes makes no progress until they were copied, and its
// answer, which comes later, changes nothing.
func TestPullFromBusyPeer(t *testing.T) {
	j := start(t, 1, 2)
	data, got := randomBytes(300<<10), make([]byte, 300<<10)
	var d done
	ep := j.ep(t, 1, 0)
	from := j[0].md.Expose(data)
	j.retry(t, func() error { return ep.Send(uct.Header{ID: firstID}, nil) }) // the peer's process is known
	j.retry(t, func() error { return ep.Pull(got, from, &d) })
	job{j[1]}.until(t, func() bool { return d.n == 1 })
	if d.err != nil || !bytes.Equal(got, data) {
		t.Fatalf("%v", d.err)
	}
	j[0].md.Conceal(from)
	clear(data)
	want := bytes.Clone(got)
	j.until(t, ep.Quiet)
	if d.n != 1 || !bytes.Equal(got, want) || ep.Err() != nil {
		t.Errorf("%d completions, %v", d.n, ep.Err())
	}
}

// TestConcealEndsAnswers: the owner stops reading memory that it may free.
func TestConcealEndsAnswers(t *testing.T) {
	j := start(t, 2, 1)
	data, got := make([]byte, 8<<20), make([]byte, 8<<20)
	var d done
	ep := j.ep(t, 1, 0)
	from := j[0].md.Expose(data)
	j.retry(t, func() error { return ep.Pull(got, from, &d) })
	j.until(t, func() bool { return j[0].iface.Counts().Streamed > 0 })
	j[0].md.Conceal(from)
	j[0].md.Expose([]byte{1}) // under the same key; the answer must not go on with it
	j.until(t, func() bool { return d.n == 1 })
	if !errors.Is(d.err, uct.ErrKey) {
		t.Errorf("%v", d.err)
	}
}

// TestCrowdedRanksCopy: ranks that share CPUs copy once.
func TestCrowdedRanksCopy(t *testing.T) {
	settings := pm.DefaultSettings()
	settings.Spin = 0
	j := startWith(t, 1, 2, settings)
	r, err := j[0].md.Register(randomBytes(1<<20), uct.RemoteAll)
	if err != nil {
		t.Fatal(err)
	}
	data, got := randomBytes(1<<20), make([]byte, 1<<20)
	var d done
	ep, at := j.ep(t, 1, 0), uct.Remote{Key: r.Key()}
	j.retry(t, func() error { return ep.Put(data, at, &d) })
	j.until(t, func() bool { return d.n == 1 })
	j.retry(t, func() error { return ep.Get(got, at, &d) })
	j.until(t, func() bool { return d.n == 2 })
	if d.err != nil || !bytes.Equal(got, data) || !bytes.Equal(r.Bytes(), data) {
		t.Error(d.err)
	}
	if j[0].iface.Counts().Copied+j[1].iface.Counts().Copied == 0 {
		t.Error("nothing was copied between the processes")
	}
}

func TestFlush(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		r, err := j[1].md.Register(make([]byte, 1<<20), uct.RemoteAll)
		if err != nil {
			t.Fatal(err)
		}
		ep := j.ep(t, 0, 1)
		data := randomBytes(1 << 20)
		j.retry(t, func() error { return ep.Put(data, uct.Remote{Key: r.Key()}, nil) })
		var d done
		j.retry(t, func() error { return ep.Flush(&d) })
		j.until(t, func() bool { return d.n == 1 })
		if d.err != nil || !bytes.Equal(r.Bytes(), data) {
			t.Error("flushed before the put was served", d.err)
		}
	})
}

// pendingSend sends one message when it is its turn.
type pendingSend struct {
	ep  *uct.EP
	arg uint32
}

func (p *pendingSend) Retry() error {
	return p.ep.Send(uct.Header{ID: firstID, Arg: p.arg}, make([]byte, 10_000))
}

func TestPendingKeepsOrder(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		next := uint32(0)
		j[1].iface.Handle(firstID, func(p *uct.Packet) {
			if p.Arg != next {
				t.Fatalf("message %d came as number %d", p.Arg, next)
			}
			next++
		})
		ep := j.ep(t, 0, 1)
		const n = 500
		waited := 0
		for i := range uint32(n) {
			p := &pendingSend{ep, i}
			if p.Retry() != nil {
				ep.Pend(p)
				waited++
			}
		}
		if waited == 0 {
			t.Fatal("nothing had to wait")
		}
		j.until(t, func() bool { return next == n })
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
