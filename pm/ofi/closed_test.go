package ofi_test

import (
	"errors"
	"score/pm/mem/atomics"
	"score/pm/ofi"
	"score/pm/tag"
	"score/pm/uct"
	"testing"
)

// TestClosedObjects: operations on a closed endpoint fail with the number of a bad descriptor, also
// when its domain is closed; closing it again changes nothing.
func TestClosedObjects(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		r := j[0]
		to := r.peers[1]
		refused := func(when string) {
			t.Helper()
			sum := uct.AtomicKind{Op: atomics.Sum, Type: atomics.Uint64}
			transfer := ofi.Transfer{Buffer: make([]byte, 8), To: to, Key: 1}
			for name, err := range map[string]error{
				"send":    r.ep.Send(ofi.Send{Buffer: make([]byte, 8), To: to}),
				"inject":  r.ep.Send(ofi.Send{Buffer: make([]byte, 8), To: to, Flags: ofi.Inject}),
				"receive": r.ep.Receive(ofi.Receive{Buffer: make([]byte, 8), From: ofi.AnyAddress}),
				"write":   r.ep.Write(transfer),
				"read":    r.ep.Read(transfer),
				"atomic":  r.ep.Atomic(ofi.AtomicTransfer{Transfer: transfer, Kind: sum}),
			} {
				if !errors.Is(err, uct.ErrClosed) && !errors.Is(err, tag.ErrClosed) || ofi.Errno(err) != 9 {
					t.Errorf("%s, %s: %v, number %d", name, when, err, ofi.Errno(err))
				}
			}
			r.ep.Cancel(1)
		}
		for range 2 {
			ok(t, r.ep.Close())
			refused("endpoint closed")
		}
		r.closed = true
		ok(t, r.d.Close())
		refused("domain closed")
		if err := r.d.Close(); err != nil && !errors.Is(err, uct.ErrClosed) {
			t.Error(err)
		}
	})
}
