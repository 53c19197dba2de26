package handover

import (
	"errors"
	"net"
	"os"
	"score/channels"
	"score/channels/abi"
	"testing"
)

// serve runs a server of images and returns the client's end.
func serve(t *testing.T, source Source) *net.UnixConn {
	t.Helper()
	return serveAll(t, Server{Image: source})
}

func image(t *testing.T, rank, channel uint32) *channels.Image {
	t.Helper()
	img, err := channels.Create(channels.Identity{Job: 1, Rank: rank, Channel: channel}, abi.Geometry{Ranks: 2, LocalRanks: 2}, []uint32{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { img.Close() })
	return img
}

func TestImage(t *testing.T) {
	img := image(t, 1, 3)
	asked := make(chan Request, 4)
	client := NewClient(serve(t, func(r Request) (*os.File, Status) {
		asked <- r
		return img.File(), StatusOK
	}))
	for _, rank := range []uint32{1, Own} {
		got, err := client.Image(3, rank)
		if err != nil {
			t.Fatal(err)
		}
		if got.Identity != img.Identity {
			t.Errorf("%+v", got.Identity)
		}
		got.Close()
	}
	if first, second := <-asked, <-asked; first != (Request{Channel: 3, Rank: 1}) || second != (Request{Channel: 3, Rank: Own}) {
		t.Errorf("asked for %v, then %v", first, second)
	}
	for _, wrong := range []Request{{Channel: 3, Rank: 0}, {Channel: 2, Rank: 1}} {
		if _, err := client.Image(wrong.Channel, wrong.Rank); !errors.Is(err, channels.ErrDamaged) {
			t.Errorf("%v: got another context than asked for: %v", wrong, err)
		}
	}
}

func TestStatuses(t *testing.T) {
	client := NewClient(serve(t, func(r Request) (*os.File, Status) { return nil, Status(r.Channel) }))
	for s, want := range map[Status]error{
		StatusRank: ErrRank, StatusChannel: ErrChannel, StatusGone: ErrGone,
		StatusExhausted: ErrExhausted, StatusNotGiven: ErrNotGiven, StatusFlow: ErrFlow, StatusPlaces: ErrPlaces, 99: errPacket,
	} {
		if _, err := client.Image(uint32(s), 1); !errors.Is(err, want) {
			t.Errorf("status %d: %v, want %v", s, err, want)
		}
	}
	client.Close()
	if _, err := client.Image(1, 1); !errors.Is(err, ErrLost) {
		t.Errorf("hung up: %v", err)
	}
}

// TestServerHangsUp: whoever sends something else is not listened to any more.
func TestServerHangsUp(t *testing.T) {
	good := Request{Channel: 1, Rank: 2}.encode()
	for _, packet := range [][]byte{good[:11], append(good[:], 0), []byte("GET / HTTP/1"), make([]byte, 4000)} {
		conn := serve(t, func(Request) (*os.File, Status) {
			t.Error("answered")
			return nil, StatusRank
		})
		if _, err := conn.Write(packet); err != nil {
			t.Fatal(err)
		}
		if n, err := conn.Read(make([]byte, 100)); n != 0 || err == nil {
			t.Errorf("%d bytes in answer, %v", n, err)
		}
	}
}

// TestClientDistrusts: an answer without descriptor, of a wrong size, or with a
// descriptor that is no image.
func TestClientDistrusts(t *testing.T) {
	ok := StatusOK.encode()
	for name, answer := range map[string][]byte{"no descriptor": ok[:], "short": ok[:7], "long": append(ok[:], 1), "other": make([]byte, 8)} {
		server, file, err := Pair()
		if err != nil {
			t.Fatal(err)
		}
		conn, err := Conn(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := server.Write(answer); err != nil {
			t.Fatal(err)
		}
		client := NewClient(conn)
		if _, err := client.Image(1, 1); !errors.Is(err, errPacket) {
			t.Errorf("%s: %v", name, err)
		}
		client.Close()
		server.Close()
	}
	plain, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { plain.Close() }) // after the server ended
	client := NewClient(serve(t, func(Request) (*os.File, Status) { return plain, StatusOK }))
	if _, err := client.Image(1, 1); !errors.Is(err, channels.ErrSeals) {
		t.Errorf("a plain file: %v", err)
	}
}

func FuzzPackets(f *testing.F) {
	request, status := Request{Channel: 1, Rank: 2}.encode(), StatusGone.encode()
	network := Request{Channel: 1, Rank: Own, Network: true}.encode()
	f.Add(request[:])
	f.Add(network[:])
	f.Add(status[:])
	credits := Request{Channel: 1, Rank: 2, Flow: abi.FlowCredits}.encode()
	f.Add(credits[:])
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := decodeRequest(data); err == nil {
			if again := r.encode(); string(again[:]) != string(data) {
				t.Errorf("%x became %x", data, again)
			}
		}
		if s, err := decodeStatus(data); err == nil {
			if again := s.encode(); string(again[:]) != string(data) {
				t.Errorf("%x became %x", data, again)
			}
		}
	})
}
