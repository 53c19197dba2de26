// Traffic has all ranks of a job do everything that the messaging stack can do with all others,
// round after round, and checks each byte and each sum: tagged messages of all lengths up to -long
// both ways, puts and gets of windows and of other memory, one by one and all at once,
// fetch-and-adds to a counter of rank 0. It ends with an error if anything is lost, doubled,
// changed, or out of order.
//
//	scrun -N 2 -n 4 traffic -rounds 5
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"score/pm/mem/atomics"
	"score/pm/tag"
	"score/pm/uct"
)

// Keys of each rank's memory. In it each other rank has a slot.
const (
	windowKey uint64 = iota + 1
	plainKey
	counterKey // of rank 0
)

const (
	adds      = 50      // fetch-and-adds of a rank in each round
	barrier   = 1 << 32 // tags of barriers begin here
	shortTags = 20      // short messages to each rank in each round
)

func main() {
	log.SetFlags(0)
	rounds := flag.Int("rounds", 3, "how many rounds")
	long := flag.Int("long", 4<<20, "longest message in `bytes`")
	slot := flag.Int("slot", 0, "length of puts and gets in `bytes` (default a quarter of the longest message)")
	flag.Parse()
	if *slot == 0 {
		*slot = *long / 4
	}
	e, err := tag.Open(1)
	if err != nil {
		log.Fatal(err)
	}
	r := &rank{Endpoint: e, iface: e.Iface(), rounds: *rounds, long: *long, slot: *slot}
	if err := r.run(); err != nil {
		log.Fatalf("rank %d: %v", r.iface.Rank(), err)
	}
	if err := e.Iface().Close(); err != nil {
		log.Fatal(err)
	}
}

// rank is this rank and what others reach of it.
type rank struct {
	*tag.Endpoint
	iface         *uct.Iface
	rounds, long  int
	slot          int // length of another rank's part of this rank's memory
	window, plain *uct.Region
	counter       *uct.Region
	highest       uint64 // what a fetch-and-add of this rank returned last
	barriers      uint64
}

func (r *rank) run() (err error) {
	md, size := r.iface.MD(), r.slot*r.iface.Ranks()
	if r.window, err = md.AllocKey(windowKey, size, uct.RemoteAll); err != nil {
		return err
	}
	if r.plain, err = md.RegisterKey(plainKey, make([]byte, size), uct.RemoteAll); err != nil {
		return err
	}
	if r.counter, err = md.AllocKey(counterKey, 8, uct.RemoteAll); err != nil {
		return err
	}
	for round := range r.rounds {
		for _, f := range []func(int) error{r.messages, r.memory, r.together, r.count} {
			if err := f(round); err != nil {
				return fmt.Errorf("round %d: %w", round, err)
			}
		}
	}
	return r.finish()
}

// finish checks the sum when all have added.
func (r *rank) finish() error {
	if err := r.meet(); err != nil {
		return err
	}
	if r.iface.Rank() > 0 {
		return r.meet()
	}
	got, want := binary.LittleEndian.Uint64(r.counter.Bytes()), uint64(r.rounds*(adds+1)*r.iface.Ranks())
	if got != want {
		return fmt.Errorf("the counter is %d, want %d", got, want)
	}
	c := r.iface.Counts()
	fmt.Printf("%d rounds on %d ranks: every byte and the sum are right; %d operations by load and store, %d bytes copied, %d in pieces\n",
		r.rounds, r.iface.Ranks(), c.Direct, c.Copied, c.Streamed)
	return r.meet()
}

// data is what one rank sends another.
func data(round, from, to, n int) []byte {
	random := rand.New(rand.NewPCG(uint64(round), uint64(from)<<32|uint64(to)))
	b := make([]byte, n+7)
	for i := 0; i < n; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], random.Uint64())
	}
	return b[:n]
}

// length of a message with a tag.
func (r *rank) length(round, number int) int {
	if number == 0 {
		return r.long
	}
	return rand.New(rand.NewPCG(uint64(round), uint64(number))).IntN(40_000)
}

// messages sends tagged messages to all others and receives theirs, half of them before they came.
func (r *rank) messages(round int) error {
	me, ranks := r.iface.Rank(), r.iface.Ranks()
	ops := make([]tag.Op, 0, 2*ranks*shortTags)
	next := func() *tag.Op {
		ops = append(ops, tag.Op{})
		return &ops[len(ops)-1]
	}
	var received []*tag.Op
	receive := func(from, number int) error {
		o := next()
		received = append(received, o)
		c := tag.Criteria{Source: tag.Peer{Rank: uint32(from)}, Tag: uint64(number)}
		return r.Receive(o, c, make([]byte, r.length(round, number)))
	}
	var errs []error
	for number := range shortTags {
		for other := range ranks {
			if other == me {
				continue
			}
			if number%2 == 0 {
				errs = append(errs, receive(other, number))
			}
			errs = append(errs, r.Send(next(), tag.Peer{Rank: uint32(other)}, uint64(number), data(round, me, other, r.length(round, number))))
			if number%2 == 1 {
				errs = append(errs, receive(other, number))
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	all := make([]*tag.Op, len(ops))
	for i := range ops {
		all[i] = &ops[i]
	}
	if err := r.Wait(context.Background(), all...); err != nil {
		return err
	}
	for _, o := range received {
		want := data(round, int(o.From.Rank), me, r.length(round, int(o.Tag)))
		if !bytes.Equal(o.Bytes, want) {
			return fmt.Errorf("message %d of rank %d, %d bytes, differs", o.Tag, o.From.Rank, len(o.Bytes))
		}
	}
	return nil
}

// memory puts to all others, gets it back, and checks what others put here.
func (r *rank) memory(round int) error {
	me, w := r.iface.Rank(), r.iface.Worker()
	for other := range r.iface.Ranks() {
		ep, err := r.iface.EP(other)
		if err != nil {
			return err
		}
		for _, key := range []uint64{windowKey, plainKey} {
			at := uct.Remote{Key: key, Offset: uint64(me * r.slot)}
			put, got := data(round, me, other, r.slot), make([]byte, r.slot)
			if err := w.Do(context.Background(), func(d uct.Completion) error { return ep.Put(put, at, d) }); err != nil {
				return err
			}
			if err := w.Do(context.Background(), func(d uct.Completion) error { return ep.Get(got, at, d) }); err != nil {
				return err
			}
			if !bytes.Equal(put, got) {
				return fmt.Errorf("what was put to rank %d comes back changed", other)
			}
		}
	}
	if err := r.meet(); err != nil {
		return err
	}
	for from := range r.iface.Ranks() {
		want := data(round, from, me, r.slot)
		for _, region := range []*uct.Region{r.window, r.plain} {
			if !bytes.Equal(region.Bytes()[from*r.slot:][:r.slot], want) {
				return fmt.Errorf("what rank %d put here is changed", from)
			}
		}
	}
	return r.meet()
}

// count adds to the counter. What was there never gets less, and comes to this rank once.
func (r *rank) count(int) error {
	ep, err := r.iface.EP(0)
	if err != nil {
		return err
	}
	add := uct.AtomicKind{Op: atomics.Sum, Type: atomics.Uint64}
	one, was := binary.LittleEndian.AppendUint64(nil, 1), make([]byte, 8)
	for range adds {
		err := r.iface.Worker().Do(context.Background(), func(d uct.Completion) error {
			return ep.FetchAtomic(add, one, nil, was, uct.Remote{Key: counterKey}, d)
		})
		if err != nil {
			return err
		}
		got := binary.LittleEndian.Uint64(was) + 1
		if got <= r.highest {
			return fmt.Errorf("the counter went from %d to %d", r.highest, got)
		}
		r.highest = got
	}
	return nil
}

// meet ends when all ranks have begun it.
func (r *rank) meet() error {
	t := barrier + r.barriers
	r.barriers++
	ranks := r.iface.Ranks()
	ops := make([]tag.Op, 2*ranks)
	all := make([]*tag.Op, 2*ranks)
	for i := range ops {
		all[i] = &ops[i]
	}
	for other := range ranks {
		p := tag.Peer{Rank: uint32(other)}
		if err := r.Receive(all[other], tag.Criteria{Source: p, Tag: t}, nil); err != nil {
			return err
		}
		if err := r.Send(all[ranks+other], p, t, nil); err != nil {
			return err
		}
	}
	return r.Wait(context.Background(), all...)
}
