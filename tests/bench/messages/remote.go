package messages

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"score/pm"
	"score/pm/mem/atomics"
	"score/pm/uct"
	"sync/atomic"
	"time"
)

// One-sided operations of 8 bytes inside a node, by rank 0 on memory of rank 1, which makes
// progress meanwhile. Puts are a stream that a flush ends; gets and fetch-and-adds begin when the
// last is complete. In a ping-pong of puts each rank waits until the other's is in its memory.

// Operations that Remote measures; memory is WindowMemory or OtherMemory.
const (
	OpPut      = "put"
	OpGet      = "get"
	OpFetchAdd = "fadd"
	OpPingPong = "pingpong" // one way
)

// What the names of Remote's values end with.
const (
	WindowMemory = "_window"
	OtherMemory  = "_other"
)

const (
	remoteCount  = 4000 // operations of a measurement
	remotePieces = 20   // measurements, of which the least counts
)

// Remote measures the operations, in nanoseconds by name and memory.
func Remote(ctx context.Context) (map[string]float64, error) {
	out, err := runPair(ctx, Shm, "remote", nil)
	if err != nil {
		return nil, err
	}
	return parseTimes(out)
}

// remoteEnd is a rank's end, with a region of each kind of memory.
type remoteEnd struct {
	worker  *uct.Worker
	md      *uct.MD
	iface   *uct.Iface
	ep      *uct.EP
	regions []*uct.Region // WindowMemory, OtherMemory
	keys    []uint64      // of the other's
	ends    int           // words of the other rank that were not waited for
	done    int
	err     error
}

// What the ranks tell each other.
const (
	idKeys = uct.FirstID + iota
	idEnd
)

func newRemoteEnd(ch *pm.Channel) (*remoteEnd, error) {
	e := &remoteEnd{worker: uct.NewWorker(), md: uct.NewMD(0)}
	e.iface = e.worker.Open(ch, e.md)
	e.iface.Handle(idKeys, func(p *uct.Packet) {
		data, err := p.Bytes()
		for ; err == nil && len(data) >= 8; data = data[8:] {
			e.keys = append(e.keys, binary.LittleEndian.Uint64(data))
		}
	})
	e.iface.Handle(idEnd, func(*uct.Packet) { e.ends++ })
	window, err1 := e.md.Alloc(4096, uct.RemoteAll)
	other, err2 := e.md.Register(make([]byte, 4096), uct.RemoteAll)
	ep, err3 := e.iface.EP(1 - ch.Rank())
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	e.ep, e.regions = ep, []*uct.Region{window, other}
	var keys []byte
	for _, r := range e.regions {
		keys = binary.LittleEndian.AppendUint64(keys, r.Key())
	}
	if err := e.send(idKeys, keys); err != nil {
		return nil, err
	}
	return e, e.until(func() bool { return len(e.keys) == len(e.regions) })
}

// Complete counts an operation.
func (e *remoteEnd) Complete(err error) {
	e.done++
	if err != nil {
		e.err = err
	}
}

func (e *remoteEnd) until(ready func() bool) error {
	for !ready() {
		if err := firstError(e.err, e.ep.Err()); err != nil {
			return err
		}
		e.worker.Progress()
	}
	return e.err
}

func (e *remoteEnd) send(id uint8, data []byte) error {
	return e.retry(func() error { return e.ep.Send(uct.Header{ID: id}, data) })
}

func (e *remoteEnd) retry(begin func() error) error {
	for {
		err := begin()
		if err != uct.ErrAgain { //nolint:errorlint // operations return this very value
			return err
		}
		e.worker.Progress()
	}
}

// complete begins an operation and waits for its end.
func (e *remoteEnd) complete(begin func() error) error {
	e.done = 0
	if err := e.retry(begin); err != nil {
		return err
	}
	for e.done == 0 {
		e.worker.Progress()
	}
	return e.err
}

func remoteRank(ch *pm.Channel) error {
	e, err := newRemoteEnd(ch)
	if err != nil {
		return err
	}
	for range remotePieces {
		for i, memory := range []string{WindowMemory, OtherMemory} {
			if err := e.pingPong(ch.Rank(), i, memory); err != nil {
				return err
			}
			if ch.Rank() == 0 {
				err = e.operations(i, memory)
			} else {
				err = e.serve()
			}
			if err != nil {
				return err
			}
		}
	}
	return firstError(e.worker.Close(), e.md.Close())
}

// serve makes progress until the other rank has done its operations.
func (e *remoteEnd) serve() error {
	if err := e.waitEnd(); err != nil {
		return err
	}
	return e.send(idEnd, nil)
}

func (e *remoteEnd) waitEnd() error {
	err := e.until(func() bool { return e.ends > 0 })
	e.ends--
	return err
}

func (e *remoteEnd) operations(i int, memory string) error {
	at := uct.Remote{Key: e.keys[i]}
	word, result := make([]byte, 8), make([]byte, 8)
	word[0] = 1
	add := uct.AtomicKind{Op: atomics.Sum, Type: atomics.Uint64}
	put := func() error { return e.ep.Put(word, at, nil) }
	get := func() error { return e.ep.Get(result, at, e) }
	fetchAdd := func() error { return e.ep.FetchAtomic(add, word, nil, result, at, e) }
	for _, o := range []struct {
		name string
		run  func(count int) error
	}{
		{OpPut, func(count int) error { return e.stream(put, count) }},
		{OpGet, func(count int) error { return e.repeat(get, count) }},
		{OpFetchAdd, func(count int) error { return e.repeat(fetchAdd, count) }},
	} {
		if err := o.run(remoteCount / 10); err != nil {
			return err
		}
		start := time.Now()
		if err := o.run(remoteCount); err != nil {
			return err
		}
		printTime(o.name+memory, start, remoteCount)
	}
	return e.end()
}

// end has the other rank go on, and waits for its word.
func (e *remoteEnd) end() error {
	if err := e.send(idEnd, nil); err != nil {
		return err
	}
	return e.waitEnd()
}

// stream begins operations as fast as resources allow, and waits until all are complete.
func (e *remoteEnd) stream(begin func() error, count int) error {
	for range count {
		if err := e.retry(begin); err != nil {
			return err
		}
	}
	return e.complete(func() error { return e.ep.Flush(e) })
}

func (e *remoteEnd) repeat(begin func() error, count int) error {
	for range count {
		if err := e.complete(begin); err != nil {
			return err
		}
	}
	return nil
}

func printTime(name string, start time.Time, count int) {
	fmt.Printf("%s %.2f\n", name, float64(time.Since(start).Nanoseconds())/float64(count))
}

// pingPong has each rank put a number into the other's second word when the last one came.
func (e *remoteEnd) pingPong(rank, i int, memory string) error {
	at := uct.Remote{Key: e.keys[i], Offset: 8}
	mine := remoteWord(e.regions[i].Bytes()[8:])
	atomic.StoreUint64(mine, 0)
	if err := e.meet(rank); err != nil {
		return err
	}
	word := make([]byte, 8)
	begin := func() error { return e.ep.Put(word, at, nil) }
	start := time.Now()
	for n := uint64(1); n <= remoteCount; n++ {
		binary.LittleEndian.PutUint64(word, n)
		if rank == 0 {
			if err := e.retry(begin); err != nil {
				return err
			}
		}
		if err := e.until(func() bool { return atomic.LoadUint64(mine) == n }); err != nil {
			return err
		}
		if rank == 1 {
			if err := e.retry(begin); err != nil {
				return err
			}
		}
	}
	if rank == 0 {
		printTime(OpPingPong+memory, start, 2*remoteCount)
	}
	return e.meet(rank)
}

// meet lets rank 0 go on when rank 1 is here, and the other way round.
func (e *remoteEnd) meet(rank int) error {
	if rank == 1 {
		return e.serve()
	}
	return e.end()
}
