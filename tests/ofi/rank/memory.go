package main

import (
	"encoding/binary"
	"math"
	"score/pm/mem/atomics"
	"score/pm/ofi"
	"score/pm/uct"
)

const maxBytes = 1 << 20

func number(n uint64) []byte  { return binary.LittleEndian.AppendUint64(nil, n) }
func value(b []byte) uint64   { return binary.LittleEndian.Uint64(b) }
func value32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }

// oneSided writes and reads what the other rank has registered, by offsets or by addresses.
func oneSided(r *rank) {
	e := r.open(ofi.EndpointOptions{})
	w := e.window(maxBytes, nil)
	for k := range 10 {
		n, at := []int{1, 8, 4096, 100000, maxBytes}[k/2], 5
		if n == maxBytes {
			at = 0
		}
		local := fill(make([]byte, n), r.me, k)
		e.write(e.remote(w, local, uint64(at), 0))
		check(e.next().Flags == ofi.RMA|ofi.Write, "a write of %d bytes", n)
		r.barrier()
		check(filled(w.memory[at:at+n], r.other, k), "%d bytes of the other rank", n)
		clear(local)
		e.read(e.remote(w, local, uint64(at), 0))
		check(e.next().Flags == ofi.RMA|ofi.Read && filled(local, r.me, k), "a read of %d bytes", n)
		r.barrier()
	}
	if w.at == 0 { // in row rma
		local := fill(make([]byte, 64), r.me, 1)
		e.write(e.remote(w, local, 100, ofi.Inject|ofi.Quiet))
		clear(local)
		e.read(e.remote(w, local, 100, 0))
		check(e.next().Flags&ofi.Read != 0 && filled(local, r.me, 1), "an injected write")
	}
	w.close(e)
	e.close()
}

func writeData(r *rank) {
	e := r.open(ofi.EndpointOptions{})
	w := e.window(maxBytes, nil)
	for k := range 6 {
		n := 16
		if k%2 == 1 {
			n = 100000
		}
		t := e.remote(w, fill(make([]byte, n), r.me, k), 0, ofi.RemoteData|ofi.Quiet)
		t.Data = 0x1111000000000000 | uint64(k)
		e.write(t)
		got := e.next() // of the other rank's write
		check(got.Flags&(ofi.RemoteWrite|ofi.RemoteData) == ofi.RemoteWrite|ofi.RemoteData && got.Data == t.Data, "told: %+v", got)
		check(filled(w.memory[:n], r.other, k), "the bytes of write %d", k)
		r.barrier()
	}
	e.nothing()
	w.close(e)
	e.close()
}

var uint64Sum = uct.AtomicKind{Type: atomics.Uint64, Op: atomics.Sum}

// atomic begins an operation; with a result it fetches.
func (e *end) atomic(kind uct.AtomicKind, t ofi.Transfer, compare, result []byte) {
	post(e.r, func() error {
		return e.ep.Atomic(ofi.AtomicTransfer{Transfer: t, Kind: kind, Compare: compare, Result: result})
	})
}

func order(r *rank) {
	e := r.open(ofi.EndpointOptions{})
	w := e.window(maxBytes, nil)
	for k := range 100 {
		n := uint64(8)
		switch k % 5 {
		case 4:
			n = 300000
		case 3:
			n = 5000
		}
		read, old := make([]byte, 8), make([]byte, 8)
		e.write(e.remote(w, make([]byte, n), 0, 0))
		e.write(e.remote(w, number(uint64(1000+k)), n-8, 0)) // onto its end
		e.atomic(uint64Sum, e.remote(w, number(1), n-8, 0), nil, old)
		e.read(e.remote(w, read, n-8, 0))
		for range 4 {
			e.next()
		}
		check(value(old) == uint64(1000+k) && value(read) == uint64(1001+k), "turn %d: %d, %d", k, value(old), value(read))
	}
	w.close(e)
	e.close()
}

func events(r *rank) {
	const n = 25
	e := r.open(ofi.EndpointOptions{})
	counter := r.d.Counter()
	w := e.window(maxBytes, counter)
	r.barrier()
	for k := range n {
		length := 8
		if k%5 == 0 {
			length = 100000
		}
		e.write(e.remote(w, make([]byte, length), 8, ofi.Quiet))
		e.atomic(uint64Sum, e.remote(w, number(1), 0, ofi.Quiet), nil, nil)
	}
	// An atomic that fetches changes the memory, too; a read does not.
	was, now := make([]byte, 8), make([]byte, 8)
	e.atomic(uint64Sum, e.remote(w, number(1), 0, ofi.Quiet), nil, was)
	look := e.remote(w, nil, 0, 0)
	e.atomic(uct.AtomicKind{Type: atomics.Uint64, Op: atomics.NoOp}, look, nil, now)
	e.next()
	check(value(was) == n && value(now) == n+1, "fetched %d, then %d", value(was), value(now))
	r.barrier()
	done, _ := counter.Value()
	check(done == 2*n+1, "%d operations were counted", done)
	check(value(w.memory) == n+1, "the sum is %d", value(w.memory))
	r.barrier()
	must(w.region.Close())
	e.close()
}

func atomic(r *rank) {
	const n = 50
	e := r.open(ofi.EndpointOptions{})
	w := e.window(64, nil)
	minus3 := int32(-3)
	pair := binary.LittleEndian.AppendUint32([]byte{1, 0, 0, 0}, uint32(minus3))
	half, two := number(math.Float64bits(0.5)), binary.LittleEndian.AppendUint32(nil, math.Float32bits(2))
	for range n {
		e.atomic(uct.AtomicKind{Type: atomics.Int32, Op: atomics.Sum}, e.remote(w, pair, 0, 0), nil, nil)
		e.atomic(uint64Sum, e.remote(w, number(1), 8, ofi.Inject|ofi.Quiet), nil, nil)
		e.atomic(uct.AtomicKind{Type: atomics.Float64, Op: atomics.Sum}, e.remote(w, half, 16, 0), nil, nil)
		e.atomic(uct.AtomicKind{Type: atomics.Float32, Op: atomics.Sum}, e.remote(w, two, 40, 0), nil, nil)
		for range 3 {
			check(e.next().Flags&ofi.Atomic != 0, "a completion of another kind")
		}
	}
	r.barrier()
	check(value32(w.memory) == n && int32(value32(w.memory[4:])) == -3*n && value(w.memory[8:]) == n, "sums of integers: %x", w.memory)
	check(math.Float64frombits(value(w.memory[16:])) == n*0.5 && math.Float32frombits(value32(w.memory[40:])) == 2*n, "sums: %x", w.memory)
	eachOp(e, w)
	w.close(e)
	e.close()
}

func eachOp(e *end, w *window) {
	for _, c := range []struct {
		op                  atomics.Op
		before, with, after uint64
	}{
		{atomics.Min, 9, 4, 4},
		{atomics.Max, 9, 14, 14},
		{atomics.Sum, 9, 4, 13},
		{atomics.Prod, 9, 4, 36},
		{atomics.LOr, 0, 4, 1},
		{atomics.LAnd, 9, 0, 0},
		{atomics.BOr, 9, 6, 15},
		{atomics.BAnd, 9, 5, 1},
		{atomics.LXor, 9, 4, 0},
		{atomics.BXor, 9, 5, 12},
		{atomics.Replace, 9, 4, 4},
	} {
		e.r.barrier()
		copy(w.memory[24:], number(c.before))
		e.r.barrier()
		e.atomic(uct.AtomicKind{Type: atomics.Uint64, Op: c.op}, e.remote(w, number(c.with), 24, 0), nil, nil)
		e.next()
		e.r.barrier()
		check(value(w.memory[24:]) == c.after, "operation %v: %d", c.op, value(w.memory[24:]))
	}
}

func fetchAtomic(r *rank) {
	const n = 200
	e := r.open(ofi.EndpointOptions{})
	w := e.window(64, nil)
	old, mine, last := make([]byte, 8), uint64(0), uint64(0)
	counter := e.remote(w, number(1), 0, 0) // both take numbers from rank 0's word
	if r.me == 0 {
		counter.To, counter.Key, counter.Offset = e.self, w.region.Key(), 0
	}
	for k := range n {
		e.atomic(uint64Sum, counter, nil, old)
		e.next()
		check(k == 0 || value(old) > last, "%d after %d", value(old), last)
		last, mine = value(old), mine+value(old)
	}
	theirs := value(r.swap(number(mine)))
	check(mine+theirs == 2*n*(2*n-1)/2, "numbers that were not given once each: %d and %d", mine, theirs)
	counter.Buffer = nil
	e.atomic(uct.AtomicKind{Type: atomics.Uint64, Op: atomics.NoOp}, counter, nil, old)
	e.next()
	check(value(old) == 2*n, "read %d", value(old))
	e.atomic(uct.AtomicKind{Type: atomics.Int64, Op: atomics.Replace}, e.remote(w, number(99), 16, 0), nil, old)
	e.next()
	r.barrier()
	check(value(old) == 0 && value(w.memory[16:]) == 99, "swapped: %d, %d", value(old), value(w.memory[16:]))
	e.atomic(uct.AtomicKind{Type: atomics.Float64, Op: atomics.Replace}, e.remote(w, number(math.Float64bits(1.5)), 24, 0), nil, old)
	e.next()
	r.barrier()
	check(value(old) == 0 && math.Float64frombits(value(w.memory[24:])) == 1.5, "swapped: %x", w.memory)
	w.close(e)
	e.close()
}

func compareAtomic(r *rank) {
	e := r.open(ofi.EndpointOptions{})
	w := e.window(64, nil)
	old := make([]byte, 8)
	swap := uct.AtomicKind{Type: atomics.Uint64, Swap: true}
	e.atomic(swap, e.remote(w, number(5), 0, 0), number(0), old)
	e.next()
	check(value(old) == 0, "it was equal, to %d", value(old))
	e.atomic(swap, e.remote(w, number(6), 0, 0), number(0), old)
	e.next()
	check(value(old) == 5, "it is not, but %d", value(old))
	e.atomic(uct.AtomicKind{Type: atomics.Uint32, Swap: true}, e.remote(w, []byte{8, 0, 0, 0}, 16, 0), []byte{7, 0, 0, 0}, old[:4])
	e.next()
	masked := uct.AtomicKind{Type: atomics.Int32, Swap: true, Masked: true}
	e.atomic(masked, e.remote(w, []byte{0x34, 0x12, 0, 0}, 24, 0), []byte{0xff, 0, 0, 0}, old[:4])
	e.next()
	r.barrier()
	check(value(w.memory) == 5 && value32(w.memory[16:]) == 0 && value32(w.memory[24:]) == 0x34, "words %x", w.memory)
	w.close(e)
	e.close()
}
