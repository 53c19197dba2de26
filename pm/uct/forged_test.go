package uct_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"score/channels/link"
	"score/pm"
	"score/pm/local/localtest"
	"score/pm/uct"
	"testing"
)

// TestForgedDatagrams: of bulk datagrams that come from somewhere else, or are for another job,
// channel, rank or transfer, nothing is written; nor of those that were not asked for.
func TestForgedDatagrams(t *testing.T) {
	started := localtest.Start(t, 2, 1, pm.DefaultSettings())
	raw, r := started.Channels[0], &rank{worker: uct.NewWorker(), md: uct.NewMD(0)}
	r.iface = r.worker.Open(started.Channels[1], r.md)
	t.Cleanup(func() { _, _ = r.worker.Close(), r.md.Close() })
	img, err := started.Hub.Image(1, 1)
	if err != nil {
		t.Fatal(err)
	}
	const size = 64 << 10
	memory := make([]byte, 3*size)
	ep := job{r}.ep(t, 0, 0)
	var d done
	if err := ep.Pull(memory[size:2*size], uct.Exposed{Key: 1 << 62}, &d); err != nil {
		t.Fatal(err)
	}
	var ask []byte
	job{r}.until(t, func() bool {
		m, err := raw.Receive()
		if errors.Is(err, pm.ErrEmpty) {
			return false
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := m.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		ask = bytes.Clone(data)
		return raw.ReleaseReceiveBuffer(m) == nil && ask[0] == uct.IDAsk
	})
	to := binary.LittleEndian.Uint64(ask[8+5*8:])
	right := link.BulkHead{
		Job: img.Job, Channel: 1, From: 0, To: 1,
		Call: binary.LittleEndian.Uint32(ask[4:]), Token: uint32(to), Size: 1000, At: 0,
	}
	socket, err := net.Dial("udp4", fmt.Sprintf("127.0.0.1:%d", uint16(to>>32)))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	send := func(h link.BulkHead, spoil int) {
		t.Helper()
		var head [link.BulkBytes]byte
		h.Put(&head)
		head[spoil] ^= byte(min(spoil, 1))
		if _, err := socket.Write(append(head[:], bytes.Repeat([]byte{7}, 1000)...)); err != nil {
			t.Fatal(err)
		}
		for range 100 {
			r.worker.Progress()
		}
	}
	for name, change := range map[string]func(h *link.BulkHead){
		"another job":      func(h *link.BulkHead) { h.Job++ },
		"another channel":  func(h *link.BulkHead) { h.Channel++ },
		"another receiver": func(h *link.BulkHead) { h.To = 0 },
		"from itself":      func(h *link.BulkHead) { h.From = 1 },
		"from no rank":     func(h *link.BulkHead) { h.From = 2 },
		"from far":         func(h *link.BulkHead) { h.From = 1 << 31 },
		"another call":     func(h *link.BulkHead) { h.Call++ },
		"call 0":           func(h *link.BulkHead) { h.Call = 0 },
		"a far call":       func(h *link.BulkHead) { h.Call = ^uint32(0) },
		"another token":    func(h *link.BulkHead) { h.Token++ },
		"beyond":           func(h *link.BulkHead) { h.At = size - 999 },
		"far beyond":       func(h *link.BulkHead) { h.At = ^uint64(0) - 500 },
		"longer":           func(h *link.BulkHead) { h.Size = size + 1 },
	} {
		h := right
		change(&h)
		send(h, 0)
		if !bytes.Equal(memory, make([]byte, len(memory))) {
			t.Fatalf("%s: something was written", name)
		}
	}
	send(right, 20) // its header is damaged
	if !bytes.Equal(memory, make([]byte, len(memory))) {
		t.Fatal("a damaged header: something was written")
	}
	send(right, 0)
	if !bytes.Equal(memory[size:size+1000], bytes.Repeat([]byte{7}, 1000)) || d.n != 0 || ep.Err() != nil {
		t.Errorf("the right one was not taken: %d, %v", d.n, ep.Err())
	}
}
