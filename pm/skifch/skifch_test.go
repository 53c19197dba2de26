package skifch_test

import (
	"bytes"
	"errors"
	"score/channels/abi"
	"score/pm"
	"score/pm/local"
	"score/pm/skifch"
	"testing"
)

func open(t *testing.T, ranks, number int) []*skifch.Channel {
	t.Helper()
	hub, err := local.NewHub(ranks, abi.Geometry{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hub.Close() })
	return openOn(t, hub, ranks, number)
}

func openOn(t *testing.T, hub *local.Hub, ranks, number int) []*skifch.Channel {
	t.Helper()
	var all []*skifch.Channel
	for r := range ranks {
		socket, err := hub.Connect(r)
		if err != nil {
			t.Fatal(err)
		}
		p, err := pm.Join(socket, pm.DefaultSettings())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		ch, err := p.Open(number)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, skifch.New(ch))
	}
	return all
}

func recv(t *testing.T, c *skifch.Channel) skifch.Message {
	t.Helper()
	for range 3 {
		m, err := c.Recv()
		if err == nil {
			return m
		}
		if !errors.Is(err, skifch.ErrAgain) {
			t.Fatal(err)
		}
	}
	t.Fatal("no message")
	return skifch.Message{}
}

func TestPiecesBecomeOneMessage(t *testing.T) {
	c := open(t, 2, 3)
	n, err := c[0].Send(c[0].To(1), []byte("ab"), nil, []byte("cde"))
	if n != 5 || err != nil {
		t.Fatal(n, err)
	}
	m := recv(t, c[1])
	if got := bytes.Join(m.Pieces(), nil); string(got) != "abcde" || m.Size != 5 || len(m.Pieces()) > skifch.ContSize {
		t.Fatalf("%q in %d pieces, size %d", got, len(m.Pieces()), m.Size)
	}
	if m.From != (skifch.Address{Rank: 0, Channel: 3}) || m.From != c[0].Address() {
		t.Fatalf("from %v", m.From)
	}
	if err := c[1].RecvComp(); err != nil {
		t.Fatal(err)
	}
	if err := c[1].RecvComp(); !errors.Is(err, skifch.ErrNone) {
		t.Fatal(err)
	}
}

func TestEmptyMessage(t *testing.T) {
	c := open(t, 1, 2)
	if n, err := c[0].Send(c[0].Address()); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	if m := recv(t, c[0]); m.Size != 0 || len(m.Pieces()) != 0 {
		t.Fatalf("%+v", m)
	}
}

// TestPartialSend fills the inbox with parts: each Send says what went, and the
// Recvs yield just these parts.
func TestPartialSend(t *testing.T) {
	c := open(t, 2, 1)
	data := make([]byte, 200_000)
	for i := range data {
		data[i] = byte(i * 7)
	}
	var parts []int
	sent := 0
	for {
		from := sent % 1000
		n, err := c[0].Send(c[0].To(1), data[from:from+10], data[from+10:])
		if errors.Is(err, skifch.ErrAgain) {
			break
		}
		if err != nil || n == 0 {
			t.Fatal(n, err)
		}
		parts = append(parts, n)
		sent += n
	}
	if len(parts) < 4 || parts[0] != abi.DefaultMaxMessage || parts[len(parts)-1] == abi.DefaultMaxMessage {
		t.Fatalf("parts %v", parts)
	}
	at := 0
	for i, want := range parts {
		m := recv(t, c[1])
		from := at % 1000
		if m.Size != want || !bytes.Equal(m.Pieces()[0], data[from:from+want]) {
			t.Fatalf("part %d: %d bytes, want %d", i, m.Size, want)
		}
		at += want
	}
	for range parts {
		if err := c[1].RecvComp(); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := c[0].Send(c[0].To(1), data[:3]); n != 3 || err != nil {
		t.Fatal("after completion", n, err)
	}
}

func TestWrongAddresses(t *testing.T) {
	c := open(t, 2, 1)
	if _, err := c[0].Send(skifch.Address{Rank: 1, Channel: 2}, []byte("x")); !errors.Is(err, skifch.ErrAddress) {
		t.Error(err)
	}
	if _, err := c[0].Send(c[0].To(2), []byte("x")); !errors.Is(err, pm.ErrRank) {
		t.Error(err)
	}
	if _, err := c[0].Recv(); !errors.Is(err, skifch.ErrAgain) {
		t.Error(err)
	}
}
