package mmsg

import (
	"bytes"
	"net/netip"
	"score/channels/link"
	"testing"
)

// TestQueue: datagrams keep their bytes and addresses until Reset, and a queue is full by their
// number or by their bytes.
func TestQueue(t *testing.T) {
	to := link.AddressOf(netip.MustParseAddrPort("127.0.0.1:7"))
	for _, size := range []int{0, 1, 100, link.MaxDatagram} {
		var q Queue
		for n := byte(0); !q.Full() && n <= Batch; n++ {
			copy(q.Buffer(), bytes.Repeat([]byte{n}, size))
			q.Add(to, size)
		}
		if limit := min(Batch, ArenaBytes/max(size, 1)); size > 0 && (q.Count == 0 || q.Count > limit) || size == 0 && q.Count != 0 {
			t.Errorf("%d of %d bytes", q.Count, size)
		}
		for i := range q.Count {
			if q.To[i] != to || !bytes.Equal(q.Data[i], bytes.Repeat([]byte{byte(i)}, size)) {
				t.Errorf("datagram %d of %d bytes was changed", i, size)
			}
		}
		if q.Reset(); q.Count != 0 || q.Full() {
			t.Error("not empty")
		}
	}
}

// TestTail: a tail is of the datagram queued next alone, counts as bytes of the flush, and is
// forgotten with it.
func TestTail(t *testing.T) {
	to := link.AddressOf(netip.MustParseAddrPort("127.0.0.1:7"))
	tail := make([]byte, 32<<10)
	var q Queue
	q.Buffer()
	q.Borrow(tail)
	for range 2 { // the second Buffer forgets it
		q.Buffer()
		q.Add(to, 10)
	}
	for i := 0; !q.Full(); i++ {
		q.Buffer()
		q.Borrow(tail)
		q.Add(to, 10)
	}
	if q.Count-2 > ArenaBytes/len(tail) || q.Count-2 < (ArenaBytes-link.MaxDatagram)/len(tail) {
		t.Errorf("%d tails are full", q.Count-2)
	}
	if q.Bytes(1) != 10 || q.Bytes(2) != 10+len(tail) || !q.Borrows() {
		t.Errorf("datagrams of %d and %d bytes", q.Bytes(1), q.Bytes(2))
	}
	count := q.Count
	if q.Reset(); q.Borrows() || q.Full() {
		t.Error("not empty")
	}
	for i := range count {
		if q.Tail[i] != nil {
			t.Errorf("tail %d is kept", i)
		}
	}
}
