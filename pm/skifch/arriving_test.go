package skifch_test

import (
	"bytes"
	"errors"
	"score/channels"
	"score/channels/abi"
	"score/channels/handover"
	"score/pm"
	"score/pm/local"
	"score/pm/skifch"
	"testing"
	"time"
)

const patience = 60 * time.Second

// far makes two ranks on two nodes. driver is the context of rank 1, for a test that plays the
// network.
func far(t *testing.T) (ch []*skifch.Channel, driver *channels.Image) {
	t.Helper()
	hub, err := local.NewCluster(2, 1, abi.Geometry{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hub.Close() })
	ch = openOn(t, hub, 2, 4)
	socket, err := hub.Connect(1)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := handover.Conn(socket)
	if err != nil {
		t.Fatal(err)
	}
	client := handover.NewClient(conn)
	t.Cleanup(func() { client.Close() })
	if driver, err = client.Image(4, handover.Own); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { driver.Close() })
	return ch, driver
}

// deliver plays the network under the driver lock.
func deliver(t *testing.T, img *channels.Image, f func(*channels.Delivery) error) {
	t.Helper()
	for start := time.Now(); ; {
		err := img.Enter()
		if err == nil {
			break
		}
		if time.Since(start) > patience { // the agent has it for microseconds
			t.Fatal(err)
		}
	}
	defer img.Leave()
	d, err := img.Delivery()
	if err == nil {
		err = f(&d)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestRecvDoesNotWaitForTheTail: Recv returns with the head; what arrives later follows in more
// pieces, at most ContSize; those that were returned stay where they are.
func TestRecvDoesNotWaitForTheTail(t *testing.T) {
	ch, img := far(t)
	const frame, frames = 1000, 7
	data := make([]byte, frame*frames)
	for i := range data {
		data[i] = byte(i * 7)
	}
	deliver(t, img, func(d *channels.Delivery) error { return d.Begin(0, len(data), data[:frame]) })
	m := recv(t, ch[1])
	if m.Size != len(data) || m.From.Rank != 0 {
		t.Fatalf("%d bytes from %v", m.Size, m.From)
	}
	first := &m.Pieces()[0][0]
	for there := frame; ; there += frame {
		got := m.Pieces()
		if m.Available() != there || len(got) > skifch.ContSize || &got[0][0] != first || !bytes.Equal(bytes.Join(got, nil), data[:there]) {
			t.Fatalf("%d bytes in %d pieces, %d arrived", m.Available(), len(got), there)
		}
		if there == len(data) {
			break
		}
		deliver(t, img, func(d *channels.Delivery) error {
			_, err := d.More(0, data[there:there+frame])
			return err
		})
		if err := m.WaitFor(there + frame); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := m.WaitFor(len(data) + 1); !errors.Is(err, pm.ErrTooLarge) {
		t.Fatal(err)
	}
	if err := ch[1].RecvComp(); err != nil {
		t.Fatal(err)
	}
}

// TestSenderDiedInTheMessage: neither Wait nor RecvComp waits for it for ever, and the next message
// comes.
func TestSenderDiedInTheMessage(t *testing.T) {
	ch, img := far(t)
	deliver(t, img, func(d *channels.Delivery) error { return d.Begin(0, 5000, make([]byte, 1000)) })
	m := recv(t, ch[1])
	deliver(t, img, func(d *channels.Delivery) error { return d.Lose(0) })
	if err := m.Wait(); !errors.Is(err, pm.ErrPeerGone) {
		t.Fatal(err)
	}
	if got := m.Pieces(); len(got) != 1 || len(got[0]) != 1000 {
		t.Fatalf("%d pieces", len(got))
	}
	if err := ch[1].RecvComp(); err != nil {
		t.Fatal(err)
	}
	deliver(t, img, func(d *channels.Delivery) error { return d.Whole(0, []byte("next")) })
	if m := recv(t, ch[1]); string(m.Pieces()[0]) != "next" {
		t.Fatalf("%q", m.Pieces())
	}
}

// TestPartialSendToAnotherNode: each Send says what went, and what it says arrives as one message,
// from the sender's address.
func TestPartialSendToAnotherNode(t *testing.T) {
	ch, _ := far(t)
	data := make([]byte, 6<<20)
	for i := range data {
		data[i] = byte(i*7 + i>>12)
	}
	var parts []int
	sent, got, refused := 0, 0, 0
	for end := time.Now().Add(patience); got < len(data); {
		if time.Now().After(end) {
			t.Fatalf("%d bytes sent, %d received", sent, got)
		}
		if sent < len(data) {
			n, err := ch[0].Send(ch[0].To(1), data[sent:min(sent+10, len(data))], data[min(sent+10, len(data)):])
			if err == nil {
				parts, sent = append(parts, n), sent+n
				continue
			}
			if !errors.Is(err, skifch.ErrAgain) {
				t.Fatal(err)
			}
			refused++
		}
		_, _ = ch[0].Recv() // drives rank 0's side
		m, err := ch[1].Recv()
		if errors.Is(err, skifch.ErrAgain) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for m.Available() < m.Size { // both ranks are this goroutine
			_, _ = ch[0].Recv()
			_ = m.WaitFor(min(m.Available()+1, m.Size))
		}
		if m.Size != parts[0] || m.From != ch[0].Address() || !bytes.Equal(bytes.Join(m.Pieces(), nil), data[got:got+m.Size]) {
			t.Fatalf("%d bytes from %v, want %d", m.Size, m.From, parts[0])
		}
		got, parts = got+m.Size, parts[1:]
		if err := ch[1].RecvComp(); err != nil {
			t.Fatal(err)
		}
	}
	if refused == 0 {
		t.Fatal("the send buffer was never full")
	}
}

// TestPartialSendWithoutLane: a sender in the ring that all share sends what fits, too.
func TestPartialSendWithoutLane(t *testing.T) {
	hub, err := local.NewHub(2, abi.Geometry{Lanes: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hub.Close() })
	ch := openOn(t, hub, 2, 1)
	data := make([]byte, 60000)
	var parts []int
	for {
		n, err := ch[0].Send(ch[0].To(1), data)
		if errors.Is(err, skifch.ErrAgain) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, n)
	}
	if last := parts[len(parts)-1]; last == len(data) || last == 0 {
		t.Fatalf("parts %v", parts)
	}
	for _, want := range parts {
		if m := recv(t, ch[1]); m.Size != want || len(bytes.Join(m.Pieces(), nil)) != want {
			t.Fatalf("%d bytes, want %d", m.Size, want)
		}
	}
}
