package udp

import (
	"bytes"
	"errors"
	"os"
	"score/channels/link"
	"testing"

	"golang.org/x/sys/unix"
)

// openBulk opens a socket for bulk datagrams beside a port.
func openBulk(t *testing.T, host string) *Bulk {
	t.Helper()
	b, err := newPort(t, host).OpenBulk(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// pages returns memory that begins at a page.
func pages(t *testing.T, n int) []byte {
	t.Helper()
	data, err := unix.Mmap(-1, 0, n*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(data) })
	return data
}

// numbered fills memory so that each of its words is another.
func numbered(data []byte) []byte {
	for i := range data {
		data[i] = byte(i) ^ byte(i>>8) ^ byte(i>>16)
	}
	return data
}

func sendBulk(t *testing.T, from, to *Bulk, data []byte, lasting bool) {
	t.Helper()
	head := [link.BulkBytes]byte{byte(len(data)), byte(len(data) >> 8)}
	if err := from.Send(to.local, &head, data, lasting); err != nil {
		t.Fatal(err)
	}
}

// takeBulk receives a datagram that is there, with want behind its header.
func takeBulk(t *testing.T, b *Bulk, want []byte) {
	t.Helper()
	_, head, ok := b.Peek()
	if !ok || int(head[0])|int(head[1])<<8 != len(want) {
		t.Fatalf("header %x, %v", head, ok)
	}
	got := make([]byte, len(want))
	if n, err := b.Take(got); err != nil || n != len(want) || !bytes.Equal(got, want) {
		t.Fatalf("%d of %d bytes, or others, %v", n, len(want), err)
	}
}

// checkDirect skips the test where the system does not send from where bytes lie.
func checkDirect(t *testing.T, b *Bulk) {
	t.Helper()
	if b.direct.off {
		t.Skip("this system does not splice pages into UDP sockets")
	}
}

// TestDirect: bytes that last are not copied before their reader takes them, others are; each
// datagram has its own, wherever in a page they begin, and whether they were prepared or not.
func TestDirect(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		t.Run(host, func(t *testing.T) {
			from, to := openBulk(t, host), openBulk(t, host)
			data := numbered(pages(t, 40))
			for _, at := range []int{0, 1, 16, os.Getpagesize() - 1} {
				frame := data[at : at+from.Fit(to.local, data[at:])]
				for _, lasting := range []bool{true, false} {
					sendBulk(t, from, to, frame, lasting)
					checkDirect(t, from)
					want := bytes.Clone(frame)
					if frame[7]++; lasting {
						want[7]++
					}
					takeBulk(t, to, want)
				}
			}
			const short = 4096
			for _, ahead := range []int{len(data), 3*minDirect + short, short, 0} {
				from.Ahead(to.local, data[:ahead])
				for at := 0; at < ahead; {
					frame := data[at : at+from.Fit(to.local, data[at:ahead])]
					sendBulk(t, from, to, frame, true)
					takeBulk(t, to, frame)
					at += len(frame)
				}
			}
			checkDirect(t, from)
		})
	}
}

// TestDirectOther: what was prepared and is not sent does not get into other datagrams.
func TestDirectOther(t *testing.T) {
	from, to, third := openBulk(t, "127.0.0.1"), openBulk(t, "127.0.0.1"), openBulk(t, "127.0.0.1")
	data := numbered(pages(t, 64))
	half := data[len(data)/2:]
	for _, c := range []struct {
		name string
		send []byte
		end  bool
	}{{"the next bytes", data, true}, {"others", half, false}, {"others after the end", half, true}} {
		from.Ahead(to.local, data)
		sendBulk(t, from, to, data[:minDirect], true)
		takeBulk(t, to, data[:minDirect])
		if c.end {
			from.Ahead(to.local, nil)
		}
		sendBulk(t, from, third, c.send[:minDirect+1], true)
		takeBulk(t, third, c.send[:minDirect+1])
		if checkDirect(t, from); t.Failed() {
			t.Fatal(c.name)
		}
	}
}

// TestDirectFails: if the system cannot send bytes from where they lie the next datagrams are
// whole.
func TestDirectFails(t *testing.T) {
	for name, spoil := range map[string]func(*testing.T, *Bulk, []byte){
		"no memory": func(t *testing.T, b *Bulk, data []byte) {
			if err := unix.Mprotect(data, unix.PROT_NONE); err != nil {
				t.Fatal(err)
			}
			head := [link.BulkBytes]byte{}
			if err := b.Send(b.local, &head, data[:minDirect], true); !errors.Is(err, link.ErrMemory) {
				t.Fatal(err)
			}
			if err := unix.Mprotect(data, unix.PROT_READ); err != nil {
				t.Fatal(err)
			}
		},
		"no pipe": func(_ *testing.T, b *Bulk, _ []byte) { b.direct.closePipe() },
		"a header without bytes": func(t *testing.T, b *Bulk, _ []byte) {
			var empty [2]int
			if err := unix.Pipe2(empty[:], unix.O_NONBLOCK); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { unix.Close(empty[0]); unix.Close(empty[1]); unix.Close(b.direct.out) })
			b.direct.out = empty[0] // the pipe is not where it is read
		},
	} {
		t.Run(name, func(t *testing.T) {
			from, to := openBulk(t, "127.0.0.1"), openBulk(t, "127.0.0.1")
			data := numbered(pages(t, 16))
			sendBulk(t, from, to, data[:minDirect], true)
			checkDirect(t, from)
			takeBulk(t, to, data[:minDirect])
			spoil(t, from, data)
			for range 2 {
				sendBulk(t, from, to, data[:minDirect+1], true)
				takeBulk(t, to, data[:minDirect+1])
			}
			if !from.direct.off {
				t.Error("it is tried again")
			}
		})
	}
}
