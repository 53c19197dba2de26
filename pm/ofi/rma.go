package ofi

import (
	"score/pm/tag"
	"score/pm/uct"
)

// Transfer describes a one-sided operation.
type Transfer struct {
	Buffer  []byte
	To      Address // the peer
	Key     uint64
	Offset  uint64 // in the memory of the key
	Data    uint64 // with RemoteData
	Context uintptr
	Flags   Flags // RemoteData, Inject, Completion, Fence
}

// way returns the transport to a peer, for an operation with these flags.
func (e *Endpoint) way(a Address, flags Flags) (*uct.EP, tag.Peer, error) {
	if e.closed {
		return nil, tag.Peer{}, uct.ErrClosed
	}
	p, err := e.o.AV.peer(a)
	if err != nil {
		return nil, p, err
	}
	if e.fenced(flags) {
		return nil, p, ErrAgain
	}
	ep, err := e.d.iface.EP(int(p.Rank))
	return ep, p, err
}

// Write copies the buffer to a peer's memory. It completes when the bytes are there. With Inject
// the buffer is the caller's again at once.
func (e *Endpoint) Write(w Transfer) error {
	ep, p, err := e.way(w.To, w.Flags)
	if err != nil {
		return err
	}
	t := e.newTransfer(w.Context, RMA|Write, e.o.Transmit, e.o.SelectiveTransmit, w.Flags, e.o.Writes)
	t.length = uint64(len(w.Buffer))
	if w.Flags&Inject != 0 {
		t.buffer = append(t.buffer[:0], w.Buffer...)
		w.Buffer = t.buffer
	}
	at := uct.Remote{Key: w.Key, Offset: w.Offset, Port: p.Port, From: uint8(e.tag.Port())}
	if w.Flags&RemoteData != 0 {
		err = ep.PutData(w.Buffer, at, w.Data, (*oneSided)(t))
	} else {
		err = ep.Put(w.Buffer, at, (*oneSided)(t))
	}
	return t.begun(err)
}

// Read copies a peer's memory to the buffer.
func (e *Endpoint) Read(r Transfer) error {
	ep, p, err := e.way(r.To, r.Flags)
	if err != nil {
		return err
	}
	idle := e.under == 0 && e.o.Transmit.read()
	t := e.newTransfer(r.Context, RMA|Read, e.o.Transmit, e.o.SelectiveTransmit, r.Flags, e.o.Reads)
	t.length = uint64(len(r.Buffer))
	at := uct.Remote{Key: r.Key, Offset: r.Offset, Port: p.Port}
	if idle && t.wanted { // the program has learned of all before: it seems to wait for each
		return t.begun(ep.GetAlone(r.Buffer, at, (*oneSided)(t)))
	}
	return t.begun(ep.Get(r.Buffer, at, (*oneSided)(t)))
}

// AtomicTransfer describes an atomic operation. With a Result it fetches what was there before.
type AtomicTransfer struct {
	Transfer
	Kind            uct.AtomicKind
	Compare, Result []byte
}

// Atomic performs an operation on a peer's memory. Buffer and Compare are the caller's again when
// it returns.
func (e *Endpoint) Atomic(a AtomicTransfer) error {
	ep, p, err := e.way(a.To, a.Flags)
	if err != nil {
		return err
	}
	kind, counter := Atomic|Write, e.o.Writes
	if a.Result != nil {
		kind, counter = Atomic|Read, e.o.Reads
	}
	t := e.newTransfer(a.Context, kind, e.o.Transmit, e.o.SelectiveTransmit, a.Flags, counter)
	t.length = uint64(max(len(a.Buffer), len(a.Result)))
	at := uct.Remote{Key: a.Key, Offset: a.Offset, Port: p.Port}
	if a.Result != nil {
		return t.begun(ep.FetchAtomic(a.Kind, a.Buffer, a.Compare, a.Result, at, (*oneSided)(t)))
	}
	return t.begun(ep.Atomic(a.Kind, a.Buffer, at, (*oneSided)(t)))
}

// begun gives the transfer back if it was not begun.
func (t *transfer) begun(err error) error {
	if err != nil {
		t.release()
	}
	return err
}
