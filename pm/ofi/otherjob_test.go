package ofi_test

import (
	"bytes"
	"context"
	"errors"
	"score/pm"
	"score/pm/mem/atomics"
	"score/pm/ofi"
	"score/pm/uct"
	"testing"
	"time"
)

// connected are two jobs of the same size whose ranks have the names of each other.
func connected(t *testing.T) (a, b job, ofB, ofA []ofi.Address) {
	t.Helper()
	a, b = start(t, 1, 2, 0, ofi.EndpointOptions{}), start(t, 2, 1, 0, ofi.EndpointOptions{})
	for _, to := range b {
		name := to.ep.Name()
		for i, from := range a {
			address, err := from.av.Insert(name[:])
			ok(t, err)
			if i == 0 {
				ofB = append(ofB, address)
			}
		}
	}
	for _, to := range a {
		name := to.ep.Name()
		for i, from := range b {
			address, err := from.av.Insert(name[:])
			ok(t, err)
			if i == 0 {
				ofA = append(ofA, address)
			}
		}
	}
	return a, b, ofB, ofA
}

// await makes progress on all until the rank's queue has something.
func await(t *testing.T, r *rank, all ...job) ofi.Entry {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for ctx.Err() == nil {
		var e [1]ofi.Entry
		if r.cq.Read(e[:]) == 1 {
			return e[0]
		}
		for _, j := range all {
			for _, other := range j {
				other.d.Progress()
			}
		}
	}
	t.Fatal("nothing was completed")
	return ofi.Entry{}
}

// Messages of all lengths between ranks of two jobs, by address, with the sender named.
func TestMessagesBetweenJobs(t *testing.T) {
	a, b, ofB, ofA := connected(t)
	for _, size := range []int{0, 8, 5000, 64 << 10, 3 << 20} {
		data, got := bytes.Repeat([]byte{byte(size), 7}, size/2), make([]byte, size)
		ok(t, b[1].ep.Receive(ofi.Receive{Buffer: got, From: ofA[0], Tag: 5, Flags: ofi.Tagged, Context: 1}))
		ok(t, a[0].ep.Send(ofi.Send{Buffer: data, To: ofB[1], Tag: 5, Flags: ofi.Tagged, Context: 2}))
		if e := await(t, b[1], a, b); e.Err != 0 || e.Length != uint64(size) || e.Source != ofA[0] || !bytes.Equal(got, data) {
			t.Fatalf("%d bytes: %+v", size, e)
		}
		if e := await(t, a[0], a, b); e.Err != 0 || e.Context != 2 {
			t.Fatalf("%d bytes sent: %+v", size, e)
		}
	}
}

// A rank may be reached before it has the name of who reaches it, as a job by one that it spawned.
// What it owes that one goes when it has the name.
func TestReachedBeforeNamed(t *testing.T) {
	for _, c := range []struct {
		size  int
		flags ofi.Flags
		early bool // the bytes come without an answer
	}{
		{8, 0, true},
		{8, ofi.MatchComplete, true},
		{3 << 20, 0, false},
	} {
		a, b := start(t, 1, 1, 0, ofi.EndpointOptions{}), start(t, 2, 1, 0, ofi.EndpointOptions{})
		nameA, nameB := a[0].ep.Name(), b[0].ep.Name()
		ofA, err := b[0].av.Insert(nameA[:])
		ok(t, err)
		data, got := bytes.Repeat([]byte{byte(c.size), 7}, c.size/2), make([]byte, c.size)
		ok(t, a[0].ep.Receive(ofi.Receive{Buffer: got, From: ofi.AnyAddress, Tag: 5, Flags: ofi.Tagged}))
		ok(t, b[0].ep.Send(ofi.Send{Buffer: data, To: ofA, Tag: 5, Flags: ofi.Tagged | c.flags}))
		if c.early {
			if e := await(t, a[0], a, b); e.Err != 0 || e.Source != ofi.AnyAddress || !bytes.Equal(got, data) {
				t.Fatalf("%d bytes: %+v", c.size, e)
			}
		}
		ofB, err := a[0].av.Insert(nameB[:])
		ok(t, err)
		if !c.early {
			if e := await(t, a[0], a, b); e.Err != 0 || !bytes.Equal(got, data) {
				t.Fatalf("%d bytes: %+v", c.size, e)
			}
		}
		if e := await(t, b[0], a, b); e.Err != 0 {
			t.Fatalf("%d bytes sent: %+v", c.size, e)
		}
		ok(t, b[0].ep.Receive(ofi.Receive{Buffer: make([]byte, 8), From: ofA, Tag: 6, Flags: ofi.Tagged}))
		ok(t, a[0].ep.Send(ofi.Send{Buffer: make([]byte, 8), To: ofB, Tag: 6, Flags: ofi.Tagged}))
		if e := await(t, b[0], a, b); e.Err != 0 || e.Source != ofA {
			t.Fatalf("the answer: %+v", e)
		}
	}
}

// One-sided operations reach memory of ranks of another job.
func TestOneSidedBetweenJobs(t *testing.T) {
	a, b, ofB, _ := connected(t)
	memory := make([]byte, 1<<20)
	mr, err := b[0].d.Register(memory, ofi.MROptions{Access: uct.RemoteAll})
	ok(t, err)
	data := bytes.Repeat([]byte{3}, len(memory))
	ok(t, a[1].ep.Write(ofi.Transfer{Buffer: data, To: ofB[0], Key: mr.Key(), Context: 1}))
	if e := await(t, a[1], a, b); e.Err != 0 || !bytes.Equal(memory, data) {
		t.Fatalf("written: %+v", e)
	}
	got := make([]byte, len(memory))
	ok(t, a[1].ep.Read(ofi.Transfer{Buffer: got, To: ofB[0], Key: mr.Key(), Context: 2}))
	if e := await(t, a[1], a, b); e.Err != 0 || !bytes.Equal(got, data) {
		t.Fatalf("read: %+v", e)
	}
	one := []byte{1, 0, 0, 0, 0, 0, 0, 0}
	ok(t, a[1].ep.Atomic(ofi.AtomicTransfer{
		Transfer: ofi.Transfer{Buffer: one, To: ofB[0], Key: mr.Key(), Context: 3},
		Kind:     uct.AtomicKind{Op: atomics.Sum, Type: atomics.Uint64},
	}))
	if e := await(t, a[1], a, b); e.Err != 0 || memory[0] != 4 {
		t.Fatalf("added: %+v, %d", e, memory[0])
	}
}

// What waits for a rank of a job that ends is completed with an error.
func TestEndOfTheOtherJob(t *testing.T) {
	a, b, ofB, ofA := connected(t)
	ok(t, b[0].ep.Receive(ofi.Receive{Buffer: make([]byte, 8), From: ofA[0], Tag: 1, Flags: ofi.Tagged}))
	ok(t, a[0].ep.Send(ofi.Send{Buffer: make([]byte, 8), To: ofB[0], Tag: 1, Flags: ofi.Tagged}))
	await(t, b[0], a, b)
	await(t, a[0], a, b)
	ok(t, a[0].ep.Receive(ofi.Receive{Buffer: make([]byte, 8), From: ofB[0], Tag: 2, Flags: ofi.Tagged}))
	ok(t, b[0].d.Close())
	b[0].closed = true
	if e := await(t, a[0], a, b[1:]); e.Err == 0 {
		t.Errorf("%+v", e)
	}
	if err := a[0].ep.Send(ofi.Send{Buffer: make([]byte, 8), To: ofB[0]}); !errors.Is(err, pm.ErrPeerGone) && !errors.Is(err, pm.ErrPeerClosed) {
		t.Errorf("a send to it: %v", err)
	}
}
