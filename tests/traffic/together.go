package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"score/pm/mem/atomics"
	"score/pm/uct"
)

// later is added to a round where data must differ from the round's.
const later = 1 << 20

// under are operations that are under way.
type under struct {
	*rank
	left int
	err  error
}

// Complete implements uct.Completion.
func (u *under) Complete(err error) {
	u.left--
	u.err = errors.Join(u.err, err)
}

// begin begins an operation, with progress while resources are short.
func (u *under) begin(f func() error) {
	u.left++
	err := f()
	for ; errors.Is(err, uct.ErrAgain); err = f() {
		u.iface.Worker().Progress()
	}
	if err != nil {
		u.Complete(err)
	}
}

// wait waits for all.
func (u *under) wait() error {
	for w := u.iface.Worker(); u.left > 0; {
		if err := w.Turn(context.Background()); err != nil {
			return err
		}
	}
	return u.err
}

// together has everything under way at once: to each other rank a put, a get of the same bytes, a
// put over them, and an add to the counter. Each operation sees what was begun before it, and
// nothing of what was begun after it.
func (r *rank) together(round int) error {
	me := r.iface.Rank()
	u := under{rank: r}
	at := uct.Remote{Key: plainKey, Offset: uint64(me * r.slot)}
	add, one := uct.AtomicKind{Op: atomics.Sum, Type: atomics.Uint64}, binary.LittleEndian.AppendUint64(nil, 1)
	puts, gets := make([][]byte, r.iface.Ranks()), make([][]byte, r.iface.Ranks())
	for other := range puts {
		ep, err := r.iface.EP(other)
		if err != nil {
			return err
		}
		puts[other], gets[other] = data(round, me, other, r.slot), make([]byte, r.slot)
		u.begin(func() error { return ep.Put(puts[other], at, &u) })
		u.begin(func() error { return ep.Get(gets[other], at, &u) })
		u.begin(func() error { return ep.Put(data(round+later, me, other, r.slot), at, &u) })
		if other == 0 {
			u.begin(func() error { return ep.Atomic(add, one, uct.Remote{Key: counterKey}, &u) })
		}
	}
	if err := u.wait(); err != nil {
		return err
	}
	for other := range puts {
		if !bytes.Equal(puts[other], gets[other]) {
			return fmt.Errorf("a get from rank %d does not see the put before it, or sees the one after it", other)
		}
	}
	return r.checkSlots(round + later)
}

// checkSlots checks what others put here, when all have done so.
func (r *rank) checkSlots(round int) error {
	if err := r.meet(); err != nil {
		return err
	}
	for from := range r.iface.Ranks() {
		if !bytes.Equal(r.plain.Bytes()[from*r.slot:][:r.slot], data(round, from, r.iface.Rank(), r.slot)) {
			return fmt.Errorf("what rank %d put here last is changed", from)
		}
	}
	return r.meet()
}
