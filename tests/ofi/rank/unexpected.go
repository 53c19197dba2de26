package main

import (
	"bytes"
	"score/pm/ofi"
)

func unexpected(r *rank) {
	const n, length = 1000, 3000
	e := r.open(ofi.EndpointOptions{})
	for k := range n {
		e.send(ofi.Send{Buffer: fill(make([]byte, length), r.me, k), Tag: uint64(k), Flags: ofi.Tagged | ofi.Quiet})
	}
	in := make([]byte, length)
	for k := range n {
		tag := k // in no order
		if k%2 == 1 {
			tag = n - k
		}
		e.receive(ofi.Receive{Buffer: in, Tag: uint64(tag), Flags: ofi.Tagged})
		got := e.next()
		check(got.Tag == uint64(tag) && filled(in, r.other, tag), "message %d: %+v", tag, got)
	}
	e.close()
}

// peek looks for a message with the tag, once.
func (e *end) peek(tag, ignore uint64, context uintptr, flags ofi.Flags) ofi.Entry {
	must(e.ep.Receive(ofi.Receive{From: e.peer, Tag: tag, Ignore: ignore, Context: context, Flags: ofi.Tagged | ofi.Peek | flags}))
	var got [1]ofi.Entry
	check(e.cq.Read(got[:]) == 1 && got[0].Context == context, "a look does not complete at once: %+v", got[0])
	return got[0]
}

// none checks that a peek finds nothing.
func (e *end) none(tag, ignore uint64) {
	got := e.peek(tag, ignore, looking, 0)
	check(got.Err == ofi.Errno(ofi.ErrNoMessage), "looked for nothing: %+v", got)
}

// found looks until there is a message; only the looks make progress.
func (e *end) found(tag, ignore uint64, context uintptr, flags ofi.Flags) ofi.Entry {
	var got ofi.Entry
	post(e.r, func() error {
		if got = e.peek(tag, ignore, context, flags); got.Err == ofi.Errno(ofi.ErrNoMessage) {
			return ofi.ErrAgain
		}
		return nil
	})
	return got
}

func peek(r *rank) {
	e := r.open(ofi.EndpointOptions{})
	in := make([]byte, 5000)
	e.none(1, 0)
	e.send(ofi.Send{Buffer: fill(make([]byte, 5000), r.me, 1), Tag: 0x70000001, Data: 42, Flags: ofi.Tagged | ofi.RemoteData})
	e.next()
	for range 3 { // a peek takes nothing away
		got := e.found(0x70000000, 0xf, looking, 0)
		check(got.Length == 5000 && got.Tag == 0x70000001 && got.Data == 42, "looked: %+v", got)
	}
	e.none(0x70000002, 0)
	e.receive(ofi.Receive{Buffer: in, Tag: 0x70000001, Flags: ofi.Tagged})
	check(e.next().Length == 5000 && filled(in, r.other, 1), "not the message that was seen")
	e.none(0x70000000, 0xf)
	e.close()
}

func claim(r *rank) {
	e := r.open(ofi.EndpointOptions{})
	in := make([]byte, longMessage)
	for k, n := range []int{100, longMessage} {
		e.send(ofi.Send{Buffer: fill(make([]byte, n), r.me, k), Tag: 3, Flags: ofi.Tagged | ofi.Quiet})
		e.inject(ofi.Send{Buffer: []byte("two"), Tag: 3, Flags: ofi.Tagged})
		e.inject(ofi.Send{Buffer: []byte("three"), Tag: 3, Flags: ofi.Tagged})
		got := e.found(3, 0, looking, ofi.Claim)
		check(got.Length == uint64(n), "claimed: %+v", got)
		check(e.found(3, 0, looking+1, 0).Length == 3, "the next one")
		e.receive(ofi.Receive{Buffer: in, Tag: 3, Flags: ofi.Tagged})
		check(e.next().Length == 3 && bytes.HasPrefix(in, []byte("two")), "received %q", in[:3])
		must(e.ep.Receive(ofi.Receive{Buffer: in, From: e.peer, Tag: 3, Context: looking, Flags: ofi.Tagged | ofi.Claim}))
		check(e.next().Length == uint64(n) && filled(in[:n], r.other, k), "the claimed message")
		check(e.found(3, 0, looking, ofi.Discard).Length == 5, "seen, and thrown away")
		e.none(3, 0)
		r.barrier()
	}
	e.close()
}

func truncation(r *rank) {
	e := r.open(ofi.EndpointOptions{})
	in := make([]byte, 100)
	for k, n := range []int{100, 5000, longMessage} {
		in[50] = 'i'
		e.receive(ofi.Receive{Buffer: in[:50], Tag: 1, Flags: ofi.Tagged})
		e.send(ofi.Send{Buffer: fill(make([]byte, n), r.me, k), Tag: 1, Flags: ofi.Tagged | ofi.Quiet})
		const truncated = 265 // FI_ETRUNC
		got := e.entry()
		check(got.Err == truncated && got.Context == receiving && in[50] == 'i', "%d bytes: %+v", n, got)
		e.receive(ofi.Receive{Buffer: in, Tag: 2, Flags: ofi.Tagged})
		e.inject(ofi.Send{Buffer: []byte("next"), Tag: 2, Flags: ofi.Tagged})
		check(e.next().Length == 4 && bytes.HasPrefix(in, []byte("next")), "the next message")
		r.barrier()
	}
	e.close()
}
