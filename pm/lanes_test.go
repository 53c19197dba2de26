package pm_test

import (
	"encoding/binary"
	"errors"
	"score/channels/abi"
	"score/channels/handover"
	"score/pm"
	"testing"
	"time"
)

// TestLanesMoveToThoseWhoTalk: one lane and two senders that take turns. Each gets the lane of the
// other one after that fell silent, and every message comes in order.
func TestLanesMoveToThoseWhoTalk(t *testing.T) {
	ranks, hub := join(t, 3, abi.Geometry{Lanes: 2})
	socket, err := hub.Connect(0)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := handover.Conn(socket)
	if err != nil {
		t.Fatal(err)
	}
	client := handover.NewClient(conn)
	defer client.Close()
	img, err := client.Image(1, handover.Own)
	if err != nil {
		t.Fatal(err)
	}
	defer img.Close()
	var sent, got [3]uint32
	for turn := range 4 {
		from := 1 + turn%2
		opened := img.Counter(abi.LanesOpened)
		for end := time.Now().Add(patience); img.Counter(abi.LanesOpened) == opened; {
			if time.Now().After(end) {
				t.Fatalf("turn %d: rank %d gets no lane", turn, from)
			}
			data := binary.LittleEndian.AppendUint32(nil, sent[from])
			if err := ranks[from].SendBytes(0, data); err != nil {
				t.Fatal(err)
			}
			sent[from]++
			_ = ranks[3-from].Poll() // the silent one looks for messages
			for got[from] < sent[from] {
				m, err := ranks[0].Receive()
				if errors.Is(err, pm.ErrEmpty) {
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if n := binary.LittleEndian.Uint32(m.Head()); m.Source() != from || n != got[from] {
					t.Fatalf("message %d of rank %d, want %d of %d", n, m.Source(), got[from], from)
				}
				got[from]++
				if err := ranks[0].ReleaseReceiveBuffer(m); err != nil {
					t.Fatal(err)
				}
			}
			_ = ranks[0].Poll()
		}
	}
	if n := img.Counter(abi.LanesGivenBack); n != 3 || img.Counter(abi.LanesWanted) < n {
		t.Fatalf("%d lanes given back, wanted %d times", n, img.Counter(abi.LanesWanted))
	}
}

// TestNoLanes: without memory for lanes all go through the shared ring.
func TestNoLanes(t *testing.T) {
	settings := pm.DefaultSettings()
	settings.LaneBytes = -1
	ranks, _ := joinWith(t, 2, abi.Geometry{}, settings)
	for i := range 3000 {
		if err := exchangeOne(ranks[0], ranks[1], make([]byte, i)); err != nil {
			t.Fatal(err)
		}
	}
}
