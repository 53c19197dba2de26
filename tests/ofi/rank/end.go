package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"score/pm/ofi"
	"score/pm/uct"
	"time"
)

// patience bounds every wait, as it does in the consumer.
const patience = 20 * time.Second

// end is an endpoint with its queue, and the addresses of this rank and the other one there.
type end struct {
	r          *rank
	ep         *ofi.Endpoint
	cq         *ofi.CQ
	av         *ofi.AV
	self, peer ofi.Address
}

// failure is a panic that ends a row.
type failure struct{ error }

// try runs a row, whose failure it returns.
func (r *rank) try(row func(*rank)) (err error) {
	defer func() {
		f, failed := recover().(failure)
		if failed {
			err = f.error
		}
	}()
	row(r)
	return nil
}

// fail ends the row, and says where.
func fail(err error) {
	const callers = 2 // fail, and what checks
	_, file, line, _ := runtime.Caller(callers)
	panic(failure{fmt.Errorf("%s:%d: %w", filepath.Base(file), line, err)})
}

func must(err error) {
	if err != nil {
		fail(err)
	}
}

func check(right bool, format string, args ...any) {
	if !right {
		fail(fmt.Errorf(format, args...))
	}
}

// alone makes an end that does not know the other rank's yet.
func (r *rank) alone(o ofi.EndpointOptions) (*end, error) {
	e := &end{r: r, cq: r.d.CQ(0), av: r.d.AV()}
	o.AV, o.Transmit, o.Receive = e.av, e.cq, e.cq
	var err error
	e.ep, err = r.d.Endpoint(o)
	return e, err
}

func (e *end) meet(mine, theirs []byte) (err error) {
	if e.self, err = e.av.Insert(mine); err != nil {
		return err
	}
	e.peer, err = e.av.Insert(theirs)
	return err
}

// open makes an end and finds the other rank's.
func (r *rank) open(o ofi.EndpointOptions) *end {
	e, err := r.alone(o)
	must(err)
	mine := e.ep.Name()
	must(e.meet(mine[:], r.swap(mine[:])))
	return e
}

func (e *end) close() {
	e.r.barrier()
	must(e.ep.Close())
	e.r.d.CloseCQ(e.cq)
}

// swap swaps bytes with the other rank, over an endpoint that is no row's.
func (r *rank) swap(mine []byte) []byte {
	tag, theirs := 0x5357415000000000|r.swaps, make([]byte, len(mine))
	r.swaps++
	post(r, func() error {
		return r.base.ep.Receive(ofi.Receive{Buffer: theirs, From: r.base.peer, Tag: tag, Context: receiving, Flags: ofi.Tagged})
	})
	post(r, func() error {
		return r.base.ep.Send(ofi.Send{Buffer: mine, To: r.base.peer, Tag: tag, Context: sending, Flags: ofi.Tagged})
	})
	got, _ := r.base.pair()
	check(got.Length == uint64(len(mine)), "swapped %d bytes", got.Length)
	return theirs
}

func (r *rank) barrier() {
	mine := binary.LittleEndian.AppendUint64(nil, r.swaps)
	theirs := r.swap(mine)
	check(string(theirs) == string(mine), "the ranks are not in the same row: %x and %x", mine, theirs)
}

// post begins an operation, and makes progress while it is refused for the moment.
func post(r *rank, f func() error) {
	for end := time.Now().Add(patience); ; r.d.Progress() {
		err := f()
		if err == nil {
			return
		}
		if !errors.Is(err, ofi.ErrAgain) || time.Now().After(end) {
			fail(err)
		}
	}
}

// Contexts of operations.
const (
	sending uintptr = iota + 1
	receiving
	looking
)

// entry is the next completion or error.
func (e *end) entry() ofi.Entry {
	var got [1]ofi.Entry
	for end := time.Now().Add(patience); e.cq.Read(got[:]) == 0; e.r.d.Progress() {
		check(!time.Now().After(end), "no completion came")
	}
	return got[0]
}

// next is the next completion, which is no error.
func (e *end) next() ofi.Entry {
	got := e.entry()
	check(got.Err == 0, "error %d: %+v", got.Err, got)
	return got
}

// pair are the completions of a receive and a send, in any order.
func (e *end) pair() (received, sent ofi.Entry) {
	received, sent = e.next(), e.next()
	if received.Context != receiving {
		received, sent = sent, received
	}
	check(received.Context == receiving && sent.Context == sending, "completions %+v and %+v", received, sent)
	return received, sent
}

// nothing checks that nothing completes for a while.
func (e *end) nothing() {
	var got [1]ofi.Entry
	for range 200 {
		e.r.d.Progress()
		check(e.cq.Read(got[:]) == 0, "a completion: %+v", got[0])
	}
}

func (e *end) send(s ofi.Send) {
	s.To, s.Context = e.peer, sending
	post(e.r, func() error { return e.ep.Send(s) })
}

// inject sends a copy; nothing completes.
func (e *end) inject(s ofi.Send) {
	s.Flags |= ofi.Inject | ofi.Quiet
	e.send(s)
}

func (e *end) receive(r ofi.Receive) {
	r.From, r.Context = e.peer, receiving
	post(e.r, func() error { return e.ep.Receive(r) })
}

// fill writes the bytes of a message: its own for each sender and seed.
func fill(to []byte, rank, seed int) []byte {
	for i := range to {
		to[i] = byte(i*7 + i>>8 + rank*13 + seed)
	}
	return to
}

func filled(from []byte, rank, seed int) bool {
	return string(from) == string(fill(make([]byte, len(from)), rank, seed))
}

// window is memory that the other rank reaches, and where it reaches this rank's.
type window struct {
	region  *uct.Region
	memory  []byte
	key, at uint64
}

func (e *end) window(n int, counter *ofi.Counter) *window {
	w := &window{memory: make([]byte, n)}
	var err error
	w.region, err = e.r.d.Register(w.memory, ofi.MROptions{Access: uct.RemoteAll, Key: 0x5ee, HasKey: true})
	must(err)
	e.r.d.Watch(w.region, nil, counter)
	mine := binary.LittleEndian.AppendUint64(nil, w.region.Key())
	theirs := e.r.swap(binary.LittleEndian.AppendUint64(mine, 0))
	w.key, w.at = binary.LittleEndian.Uint64(theirs), binary.LittleEndian.Uint64(theirs[8:])
	return w
}

func (w *window) close(e *end) {
	e.r.barrier()
	must(w.region.Close())
}

// remote is a transfer to or from the other rank's window.
func (e *end) remote(w *window, buffer []byte, offset uint64, flags ofi.Flags) ofi.Transfer {
	return ofi.Transfer{Buffer: buffer, To: e.peer, Key: w.key, Offset: w.at + offset, Context: sending, Flags: flags}
}

func (e *end) write(t ofi.Transfer) { post(e.r, func() error { return e.ep.Write(t) }) }
func (e *end) read(t ofi.Transfer)  { post(e.r, func() error { return e.ep.Read(t) }) }
