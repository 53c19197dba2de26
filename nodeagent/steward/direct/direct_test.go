package direct

import (
	"bytes"
	"crypto/rand"
	"errors"
	"score/nodeagent/steward/reliable"
	"testing"

	"pgregory.net/rapid"
)

func path(t testing.TB, key []byte, self uint32) *Path {
	t.Helper()
	var salt Salt
	_, _ = rand.Read(salt[:]) // never fails, see crypto/rand
	r, err := New(key, self, salt, func(node uint32) uint16 { return PortOf(key, node, "") })
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func testKey(job uint64, attempt uint32) []byte { return JobKey("secret", "lab", job, attempt) }

func TestSealed(t *testing.T) {
	a, b := path(t, testKey(7, 1), 0), path(t, testKey(7, 1), 1)
	rapid.Check(t, func(rt *rapid.T) {
		number := rapid.Uint64()
		sent := Packet{
			Header: reliable.Header{
				Stream: number.Draw(rt, "stream"), Number: number.Draw(rt, "number"), Least: number.Draw(rt, "least"),
				AckStream: number.Draw(rt, "ack stream"), Ack: number.Draw(rt, "ack"),
			},
			Collective: rapid.Bool().Draw(rt, "collective"),
			Data:       rapid.SliceOfN(rapid.Byte(), 0, MaxData).Draw(rt, "data"),
		}
		datagram := a.Seal(nil, 1, sent)
		if len(datagram) > MaxDatagram {
			rt.Fatalf("%d bytes", len(datagram))
		}
		got, from, err := b.Open(bytes.Clone(datagram))
		if err != nil || from != 0 || got.Header != sent.Header || got.Collective != sent.Collective || !bytes.Equal(got.Data, sent.Data) {
			rt.Fatalf("%+v came as %+v, %v", sent, got, err)
		}
	})
}

func TestLongestFits(t *testing.T) {
	a := path(t, testKey(7, 1), 0)
	maxUint64 := ^uint64(0)
	p := Packet{
		Header: reliable.Header{Stream: maxUint64, Number: maxUint64, Least: maxUint64, AckStream: maxUint64, Ack: maxUint64},
		Data:   make([]byte, MaxData),
	}
	a.peer(1).received = maxUint64
	if n := len(a.Seal(nil, 1, p)); n != MaxDatagram {
		t.Errorf("the longest takes %d bytes, not %d", n, MaxDatagram)
	}
}

// Only stewards of the same attempt of the job are heard, and only of what was meant for this one,
// unchanged.
func TestStrangersAreNotHeard(t *testing.T) {
	b := path(t, testKey(7, 1), 1)
	for name, other := range map[string]*Path{
		"another job": path(t, testKey(8, 1), 0), "another attempt": path(t, testKey(7, 2), 0),
		"another cluster": path(t, JobKey("secret", "home", 7, 1), 0), "another key": path(t, JobKey("Secret", "lab", 7, 1), 0),
	} {
		if _, _, err := b.Open(other.Seal(nil, 1, Packet{})); !errors.Is(err, ErrPacket) {
			t.Errorf("%s is accepted: %v", name, err)
		}
	}
	a := path(t, testKey(7, 1), 0)
	if _, _, err := b.Open(a.Seal(nil, 2, Packet{})); !errors.Is(err, ErrPacket) {
		t.Errorf("what is for node 2 is read by node 1: %v", err)
	}
	good := a.Seal(nil, 1, Packet{Data: []byte("hello")})
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1
		if _, _, err := b.Open(bad); !errors.Is(err, ErrPacket) {
			t.Errorf("byte %d can be changed: %v", i, err)
		}
	}
	for n := range good {
		if _, _, err := b.Open(bytes.Clone(good[:n])); !errors.Is(err, ErrPacket) {
			t.Errorf("the first %d bytes are enough: %v", n, err)
		}
	}
	if len(b.sealer.theirs) != 0 {
		t.Error("a sender is remembered that has proved nothing")
	}
	if p, from, err := b.Open(good); err != nil || from != 0 || string(p.Data) != "hello" {
		t.Errorf("%+v of %d, %v", p, from, err)
	}
	// A node has one steward in an attempt: what another one has sealed is not read, whoever has
	// its key.
	if _, _, err := b.Open(path(t, testKey(7, 1), 0).Seal(nil, 1, Packet{})); !errors.Is(err, ErrPacket) {
		t.Errorf("a second steward of node 0: %v", err)
	}
}

// No two datagrams of a steward are sealed alike, nor are those of two.
func TestNoncesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for range 3 {
		r := path(t, testKey(7, 1), 0)
		for range 3 {
			seen[string(r.Seal(nil, 1, Packet{})[headerSize:])] = true
		}
	}
	if len(seen) != 9 {
		t.Errorf("%d different ones of 9", len(seen))
	}
}

func TestKeySize(t *testing.T) {
	if _, err := New(make([]byte, KeySize-1), 0, Salt{}, nil); err == nil {
		t.Error("a short key")
	}
}

func TestSealDoesNotAllocate(t *testing.T) {
	a, b := path(t, testKey(7, 1), 0), path(t, testKey(7, 1), 1)
	buffer, data := make([]byte, 0, MaxDatagram), make([]byte, 64)
	if n := testing.AllocsPerRun(100, func() {
		datagram := a.Seal(buffer[:0], 1, Packet{Data: data})
		if _, _, err := b.Open(datagram); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for a datagram, want 0", n)
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(path(f, testKey(7, 1), 0).Seal(nil, 1, Packet{}))
	f.Add([]byte{version})
	f.Fuzz(func(t *testing.T, datagram []byte) {
		if p, from, err := path(t, testKey(8, 1), 1).Open(datagram); err == nil {
			t.Errorf("%+v of %d", p, from)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte{flagCollective | flagPause, 1, 2, 3, 4, 5, 6, 7})
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := parse(text)
		if err != nil {
			return
		}
		again, err := parse(p.append(nil))
		if err != nil || again.Header != p.Header || again.Received != p.Received || again.Collective != p.Collective || !bytes.Equal(again.Data, p.Data) {
			t.Errorf("%+v, then %+v, %v", p, again, err)
		}
	})
}

// Nobody is counted on before it has said that it hears, nor after something was missed.
func TestPath(t *testing.T) {
	a, b := path(t, testKey(7, 1), 0), path(t, testKey(7, 1), 1)
	// send brings a datagram, or loses it, and reports whether a probe is to follow.
	send := func(from, to *Path) bool {
		p, at, err := to.Open(from.Seal(nil, to.self, Packet{}))
		if err != nil || at != from.self {
			t.Fatal(at, err)
		}
		return to.OnDatagram(at, p.Received)
	}
	if a.Reaches(1) || a.Received(1) != 0 {
		t.Fatal("a stranger is reached")
	}
	if !b.OnRelayed(0, 5000, 0) || !a.OnRelayed(1, 5001, 0) || a.OnRelayed(1, 5001, 0) || a.Port(1) != 5001 {
		t.Fatal("who was found is probed once")
	}
	if !send(b, a) || a.Reaches(1) {
		t.Fatal("a has heard b, and must say so; it does not know whether it is heard")
	}
	if !send(a, b) || !b.Reaches(0) {
		t.Fatal("b knows that a hears it")
	}
	if send(b, a) || !a.Reaches(1) {
		t.Fatal("a knows that b hears it")
	}
	// Something of a's is lost. What b said before is no proof, what it says after it has heard a
	// probe is.
	a.OnMissed(1)
	if send(b, a); a.Reaches(1) {
		t.Fatal("b has heard nothing since")
	}
	if a.OnRelayed(1, 5001, b.Received(0)); a.Reaches(1) {
		t.Fatal("b has heard nothing since")
	}
	send(a, b)
	if a.OnRelayed(1, 5001, b.Received(0)); !a.Reaches(1) {
		t.Fatal("b has heard a again")
	}
	if a.OnRelayed(1, 0, 100); a.Reaches(1) {
		t.Fatal("who has no port cannot be reached")
	}
}

// All nodes of a job know where each of them is looked for, and that differs by node and by job.
func TestPortOf(t *testing.T) {
	seen := map[uint16]int{}
	for job := range uint64(20) {
		for node := range uint32(20) {
			port := PortOf(testKey(job, 1), node, "10.0.0.1:7421")
			if port < firstPort || port != PortOf(testKey(job, 1), node, "10.0.0.1:7421") {
				t.Fatalf("node %d of job %d is at port %d", node, job, port)
			}
			seen[port]++
		}
	}
	if len(seen) < 300 {
		t.Errorf("400 stewards share %d ports", len(seen))
	}
	a := path(t, testKey(7, 1), 0)
	if a.Port(1) != PortOf(testKey(7, 1), 1, "") || a.OwnPort() != PortOf(testKey(7, 1), 0, "") {
		t.Error("a node is looked for elsewhere before it is found")
	}
}
