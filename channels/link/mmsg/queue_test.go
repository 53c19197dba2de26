package mmsg

import (
	"bytes"
	"net/netip"
	"score/channels/link"
	"testing"
)

// TestQueue: datagrams keep their bytes and addresses until Reset, and a queue is full by their number
// or by their bytes.
func TestQueue(t *testing.T) {
	to := link.AddressOf(netip.MustParseAddrPort("127.0.0.1:7"))
	for _, size := range []int{0, 1, 100, link.MaxDatagram} {
		var q Queue
		for n := byte(0); !q.Full() && n <= Batch; n++ {
			copy(q.Buffer(), bytes.Repeat([]byte{n}, size))
			q.Add(to, size)
		}
		if most := min(Batch, ArenaBytes/max(size, 1)); size > 0 && (q.Count == 0 || q.Count > most) || size == 0 && q.Count != 0 {
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
