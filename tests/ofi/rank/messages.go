package main

import "score/pm/ofi"

const longMessage = 200_000

func endpoints(r *rank) {
	const n = 3
	e := r.open(ofi.EndpointOptions{})
	var eps [n]*end
	var names []byte
	for i := range eps {
		var err error
		eps[i], err = r.alone(ofi.EndpointOptions{})
		must(err)
		name := eps[i].ep.Name()
		names = append(names, name[:]...)
	}
	theirs := r.swap(names)
	in := make([]byte, 100)
	for i, one := range eps {
		at := i * ofi.NameBytes
		must(one.meet(names[at:at+ofi.NameBytes], theirs[at:at+ofi.NameBytes]))
	}
	for i, one := range eps { // from the first to each
		peer, err := eps[0].av.Insert(theirs[i*ofi.NameBytes:])
		must(err)
		out := fill(make([]byte, len(in)), r.me, i)
		post(r, func() error { return eps[0].ep.Send(ofi.Send{Buffer: out, To: peer, Flags: ofi.Inject | ofi.Quiet}) })
		post(r, func() error {
			return one.ep.Receive(ofi.Receive{Buffer: in, From: ofi.AnyAddress, Context: receiving})
		})
		check(one.next().Length == uint64(len(in)) && filled(in, r.other, i), "endpoint %d", i)
	}
	r.barrier()
	for _, one := range eps {
		must(one.ep.Close())
		r.d.CloseCQ(one.cq)
	}
	e.close()
}

func tagged(r *rank) {
	e := r.open(ofi.EndpointOptions{})
	for k := range 16 {
		n := []int{0, 1, 100, 4096, 5000, 65536, 300000, 4 << 20}[k/2]
		in, tag := make([]byte, n), uint64(100+k)
		s := ofi.Send{Buffer: fill(make([]byte, n), r.me, k), Tag: tag, Flags: ofi.Tagged}
		if k%2 == 0 {
			e.receive(ofi.Receive{Buffer: in, Tag: tag, Flags: ofi.Tagged})
			e.send(s)
		} else { // the message is there before its receive
			e.send(s)
			r.barrier()
			e.receive(ofi.Receive{Buffer: in, Tag: tag, Flags: ofi.Tagged})
		}
		got, sent := e.pair()
		check(got.Length == uint64(n) && got.Tag == tag && filled(in, r.other, k), "%d bytes: %+v", n, got)
		check(sent.Flags == ofi.Tagged|ofi.Sent, "sent: %+v", sent)
	}
	e.close()
}

func tagBits(r *rank) {
	e := r.open(ofi.EndpointOptions{})
	in := make([]byte, 8)
	for bit := range 64 {
		e.inject(ofi.Send{Buffer: number(uint64(bit)), Tag: 1 << bit, Flags: ofi.Tagged})
	}
	for bit := 63; bit >= 0; bit-- { // each is found by its own bit
		e.receive(ofi.Receive{Buffer: in, Tag: 1 << bit, Flags: ofi.Tagged})
		got := e.next()
		check(got.Tag == 1<<bit && value(in) == uint64(bit), "bit %d: %+v", bit, got)
	}
	const context, mpich = 0xabcd000000000000, 0x007000007fffffff
	for i := range uint64(10) {
		e.inject(ofi.Send{Buffer: number(i), Tag: context | i<<3, Flags: ofi.Tagged})
	}
	for i := range uint64(10) { // any of them: in order
		e.receive(ofi.Receive{Buffer: in, Tag: context, Ignore: mpich, Flags: ofi.Tagged})
		got := e.next()
		check(got.Tag == context|i<<3 && value(in) == i, "message %d: %+v", i, got)
	}
	e.nothing()
	e.close()
}

func message(r *rank) {
	e := r.open(ofi.EndpointOptions{})
	in := make([]byte, 70000)
	for k := range 8 {
		n := 64
		if k%2 == 1 {
			n = len(in)
		}
		e.receive(ofi.Receive{Buffer: in})
		e.send(ofi.Send{Buffer: fill(make([]byte, n), r.me, k)})
		got, _ := e.pair()
		check(got.Length == uint64(n) && got.Flags == ofi.Message|ofi.Received && filled(in[:n], r.other, k), "message %d: %+v", k, got)
	}
	r.barrier()
	e.receive(ofi.Receive{Buffer: in})
	e.inject(ofi.Send{Buffer: in[:8]})
	got := e.next()
	check(got.Source == e.peer, "from %d", got.Source)
	e.close()
}

func directed(r *rank) {
	e := r.open(ofi.EndpointOptions{})
	ins, out := [4][]byte{make([]byte, 8), make([]byte, 8), make([]byte, 8), make([]byte, 8)}, number(uint64(10+r.me))
	receive := func(i int, from ofi.Address, flags ofi.Flags) {
		post(r, func() error {
			return e.ep.Receive(ofi.Receive{Buffer: ins[i], From: from, Tag: 1, Context: uintptr(i), Flags: flags})
		})
	}
	comes := func(i, from int) {
		got := e.next()
		check(got.Context == uintptr(i) && value(ins[i]) == uint64(10+from), "receive %d: %+v", i, got)
	}
	toSelf := func(flags ofi.Flags) {
		post(r, func() error {
			return e.ep.Send(ofi.Send{Buffer: out, To: e.self, Tag: 1, Flags: flags | ofi.Inject | ofi.Quiet})
		})
	}
	receive(0, e.self, ofi.Tagged)
	receive(1, e.peer, ofi.Tagged)
	receive(2, e.self, 0)
	receive(3, e.peer, 0)
	e.inject(ofi.Send{Buffer: out, Tag: 1, Flags: ofi.Tagged})
	comes(1, r.other)
	e.inject(ofi.Send{Buffer: out})
	comes(3, r.other)
	e.nothing() // what only this rank itself may send is still awaited
	toSelf(ofi.Tagged)
	comes(0, r.me)
	toSelf(0)
	comes(2, r.me)
	e.close()
}

func multiReceive(r *rank) {
	const buffers, size, minLeft, length, n = 4, 4096, 512, 300, 60
	e := r.open(ofi.EndpointOptions{MinMultiReceive: minLeft})
	give := func() {
		post(r, func() error {
			return e.ep.Receive(ofi.Receive{Buffer: make([]byte, size), From: ofi.AnyAddress, Context: receiving, Flags: ofi.MultiReceive})
		})
	}
	for range buffers {
		give()
	}
	r.barrier()
	for k := range n {
		e.inject(ofi.Send{Buffer: fill(make([]byte, length), r.me, k)})
	}
	received, back := 0, 0
	for received < n {
		got := e.next()
		if got.Length > 0 {
			check(got.Length == length, "message %d: %+v", received, got)
			received++
		}
		if got.Flags&ofi.MultiReceive != 0 {
			back++
			give()
		}
	}
	check(back == n/((size-minLeft)/length+1), "%d buffers were given back", back)
	e.close()
}

func remoteData(r *rank) {
	e := r.open(ofi.EndpointOptions{})
	in := make([]byte, 20000)
	for k := range 16 {
		data, n := []uint64{0, 1, 0xfffffffe, 0x8123456789abcdef}[k/4], 2000
		switch {
		case k%4 < 2:
			n = 32
		case k/4 == 3:
			n = len(in)
		}
		flags := ofi.Flags(0)
		if k%2 == 1 {
			flags = ofi.Tagged
		}
		s := ofi.Send{Buffer: fill(make([]byte, n), r.me, k), Tag: uint64(k), Data: data, Flags: flags | ofi.RemoteData | ofi.Quiet}
		if k%4 < 2 {
			s.Flags |= ofi.Inject
		}
		e.receive(ofi.Receive{Buffer: in, Tag: uint64(k), Flags: flags})
		e.send(s)
		got := e.next()
		check(got.Flags&ofi.RemoteData != 0 && got.Data == data && filled(in[:n], r.other, k), "message %d: %+v", k, got)
		r.barrier()
	}
	e.receive(ofi.Receive{Buffer: in, Tag: 99, Flags: ofi.Tagged})
	e.inject(ofi.Send{Buffer: in[:8], Tag: 99, Flags: ofi.Tagged})
	check(e.next().Flags&ofi.RemoteData == 0, "there is no data")
	e.close()
}

func inject(r *rank) {
	e := r.open(ofi.EndpointOptions{})
	out, in := make([]byte, ofi.InjectSize), make([]byte, ofi.InjectSize)
	lengths, flags := [3]int{ofi.InjectSize, 16, 0}, [2]ofi.Flags{ofi.Tagged, 0}
	for k := range 40 {
		s := ofi.Send{Buffer: fill(out[:lengths[k%3]], r.me, k), Tag: uint64(k), Flags: flags[k%2]}
		e.inject(s)
		clear(out)
	}
	for k := range 40 {
		n := lengths[k%3]
		e.receive(ofi.Receive{Buffer: in, Tag: uint64(k), Flags: flags[k%2]})
		got := e.next()
		check(got.Length == uint64(n) && filled(in[:n], r.other, k), "message %d: %+v", k, got)
	}
	e.nothing()
	e.close()
}

func matchComplete(r *rank) {
	e := r.open(ofi.EndpointOptions{})
	in := make([]byte, longMessage)
	for k, n := range []int{8, longMessage} {
		e.send(ofi.Send{Buffer: fill(make([]byte, n), r.me, k), Tag: 1, Flags: ofi.Tagged | ofi.MatchComplete})
		e.nothing()
		r.barrier()
		e.nothing()
		r.barrier()
		e.receive(ofi.Receive{Buffer: in, Tag: 1, Flags: ofi.Tagged})
		got, _ := e.pair()
		check(got.Length == uint64(n) && filled(in[:n], r.other, k), "received: %+v", got)
	}
	e.close()
}
