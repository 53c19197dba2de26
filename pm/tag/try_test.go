package tag_test

import (
	"encoding/binary"
	"errors"
	"score/pm/tag"
	"score/pm/uct"
	"testing"
)

// TestTrySend: what goes at once arrives, and what does not is not sent; messages that Send begins
// then come after those that went.
func TestTrySend(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		try := func(tg uint64, data []byte, o tag.SendOptions) error { return j[0].ep.TrySend(peer(1), tg, data, o) }
		if err := try(1, make([]byte, 100_000), tag.SendOptions{}); !errors.Is(err, uct.ErrAgain) {
			t.Errorf("a long message: %v", err)
		}
		if err := try(1, nil, tag.SendOptions{Sync: true}); !errors.Is(err, uct.ErrAgain) {
			t.Errorf("a synchronous message: %v", err)
		}
		if err := j[0].ep.TrySend(tag.Peer{Port: tag.Ports}, 1, nil, tag.SendOptions{}); !errors.Is(err, tag.ErrPort) {
			t.Errorf("no port: %v", err)
		}
		const maxSends = 10_000 // far more than the window that a peer has at first
		data, sent := make([]byte, 8), uint64(0)
		for ; sent < maxSends; sent++ {
			binary.LittleEndian.PutUint64(data, sent)
			if err := try(1, data, tag.SendOptions{Data: sent, HasData: sent%2 == 1}); err != nil {
				if !errors.Is(err, uct.ErrAgain) {
					t.Fatal(err)
				}
				break
			}
		}
		if sent == 0 || sent == maxSends {
			t.Fatalf("%d messages went at once", sent)
		}
		var s, r tag.Op
		last := binary.LittleEndian.AppendUint64(nil, sent)
		if err := j[0].ep.Send(&s, peer(1), 1, last); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 8)
		for i := range sent + 1 {
			if err := j[1].ep.Receive(&r, tag.Criteria{Source: peer(0), Tag: 1}, got); err != nil {
				t.Fatal(err)
			}
			j.until(t, r.Done)
			if n := binary.LittleEndian.Uint64(got); n != i || r.Err != nil || r.HasData != (i < sent && i%2 == 1) || r.HasData && r.Data != i {
				t.Fatalf("message %d: %d, %+v", i, n, r.Result)
			}
		}
		j.until(t, s.Done)
		j[0].ep.Close()
		if err := try(1, nil, tag.SendOptions{}); !errors.Is(err, tag.ErrClosed) {
			t.Errorf("closed: %v", err)
		}
	})
}
