package tag_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"score/pm"
	"score/pm/local/localtest"
	"score/pm/tag"
	"score/pm/uct"
	"slices"
	"testing"
)

// victim is rank 1 of a job whose rank 0 sends what it likes. Rank 2 is honest.
type victim struct {
	raw    *pm.Channel
	ranks  job // 1 and 2
	way    *uct.EP
	behind bool // the message behind all others came
}

// The identifiers of the package's messages, as on the wire.
const (
	idEager = uct.FirstID + iota
	idOffer
	idTaken
	idWindow
	idLast = 255
)

const smallPool = 64 << 10

func newVictim(t testing.TB, nodes, perNode int) *victim {
	t.Helper()
	channels := localtest.Start(t, nodes, perNode, pm.DefaultSettings()).Channels
	v := &victim{raw: channels[0]}
	for _, ch := range channels[1:] {
		v.ranks = append(v.ranks, newRank(t, ch, tag.Settings{PoolBytes: smallPool}))
	}
	v.ranks[0].iface.Handle(idLast, func(*uct.Packet) { v.behind = true })
	var err error
	if v.way, err = v.ranks[0].iface.EP(0); err != nil {
		t.Fatal(err)
	}
	return v
}

func (v *victim) step(t testing.TB) (n int) {
	for _, r := range v.ranks {
		n += r.worker.Progress()
	}
	return n + localtest.Drain(t, v.raw)
}

func (v *victim) until(t testing.TB, done func() bool) {
	t.Helper()
	localtest.Until(t, func() { v.step(t) }, done)
}

func (v *victim) send(t testing.TB, message []byte) {
	t.Helper()
	localtest.Post(t, v.raw, 1, message, func() { v.step(t) })
}

// settle makes progress until all came, or rank 0 was given up.
func (v *victim) settle(t testing.TB) {
	t.Helper()
	v.behind = false
	v.send(t, packet(uct.Header{ID: idLast}))
	v.until(t, func() bool { return v.behind || v.way.Err() != nil })
	v.until(t, func() bool { return v.step(t) == 0 })
}

func packet(h uct.Header, words ...uint64) []byte {
	b := []byte{h.ID, h.To, h.From, h.Bits}
	b = binary.LittleEndian.AppendUint32(b, h.Arg)
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

var everything = tag.Criteria{Source: tag.AnyPeer, Ignore: ^uint64(0)}

func TestForgedMessages(t *testing.T) {
	offer := uct.Header{ID: idOffer, Arg: 1}
	const far = ^uint64(0)
	eager := func(n int) []byte { return append(packet(uct.Header{ID: idEager}, 5), make([]byte, n)...) }
	for name, c := range map[string]struct {
		messages [][]byte
		up       bool // the peer is given up
	}{
		"an eager message without a tag":       {[][]byte{packet(uct.Header{ID: idEager})}, true},
		"one without its data":                 {[][]byte{packet(uct.Header{ID: idEager, Bits: 2}, 1)}, true},
		"a synchronous one without its number": {[][]byte{packet(uct.Header{ID: idEager, Bits: 0x10}, 1)}, true},
		"one with data, without its number":    {[][]byte{packet(uct.Header{ID: idEager, Bits: 0x12}, 1, 2)}, true},
		"a synchronous one of any number":      {[][]byte{packet(uct.Header{ID: idEager, Bits: 0x10}, 1, far)}, false},
		"one for no port":                      {[][]byte{packet(uct.Header{ID: idEager, Ports: uct.Ports{To: tag.Ports}}, 1)}, true},
		"one of a space of no kind":            {[][]byte{packet(uct.Header{ID: idEager, Bits: 0xe8}, 1)}, false},
		"one for a port that is not open":      {[][]byte{packet(uct.Header{ID: idEager, Ports: uct.Ports{To: 9}}, 1)}, false},
		"eager beyond the window":              {[][]byte{eager(10_000), eager(10_000)}, true},
		"one beyond the window, of no number":  {[][]byte{packet(uct.Header{ID: idEager, Bits: 4}, 5)}, true},
		"a long one beyond the window":         {[][]byte{append(packet(uct.Header{ID: idEager, Bits: 0x14}, 5, 1), make([]byte, 4097)...)}, true},
		"long ones beyond what is kept":        {slices.Repeat([][]byte{append(packet(uct.Header{ID: idEager, Bits: 0x14}, 5, 1), make([]byte, 4096)...)}, 9), true},
		"long ones within it":                  {slices.Repeat([][]byte{append(packet(uct.Header{ID: idEager, Bits: 0x14}, 5, 1), make([]byte, 4096)...)}, 8), false},
		"a short one beyond the window":        {[][]byte{append(packet(uct.Header{ID: idEager, Bits: 0x14}, 5, 1), make([]byte, 256)...)}, false},
		"an offer cut short":                   {[][]byte{packet(offer, 5, 100, 0, 0)}, true},
		"an offer for no port":                 {[][]byte{packet(uct.Header{ID: idOffer, Ports: uct.Ports{To: 200}}, 5, 1, 0, 0, 0)}, true},
		"an offer of an absurd length":         {[][]byte{packet(offer, 5, far, 0, 0, 0)}, true},
		"taken, what was not offered":          {[][]byte{packet(uct.Header{ID: idTaken, Arg: 0}), packet(uct.Header{ID: idTaken, Arg: 1 << 31})}, false},
		"a window of no size":                  {[][]byte{packet(uct.Header{ID: idWindow})}, false},
		"windows that grow for ever":           {[][]byte{packet(uct.Header{ID: idWindow, Arg: 1 << 30}), packet(uct.Header{ID: idWindow, Arg: 3 << 30})}, false},
		"an offer that wants a window for all": {[][]byte{packet(uct.Header{ID: idOffer, Bits: 4}, 5, 1, 0, 0, 0)}, false},
	} {
		for shape, s := range localtest.Shapes {
			t.Run(name+"/"+shape, func(t *testing.T) {
				v := newVictim(t, s[0], s[1])
				for _, m := range c.messages {
					v.send(t, m)
				}
				v.settle(t)
				if up := errors.Is(v.way.Err(), uct.ErrPeer); up != c.up {
					t.Errorf("given up: %v (%v), want %v", up, v.way.Err(), c.up)
				}
			})
		}
	}
}

// TestOffersOfNothing: a receive that takes an offer whose bytes are not there ends with an error.
func TestOffersOfNothing(t *testing.T) {
	for name, words := range map[string][3]uint64{
		"no address":     {1 << 62, 0, 0},
		"address 8":      {1 << 62, 0, 8},
		"the last page":  {1 << 62, 0, ^uint64(0) - 4095},
		"a window":       {3, 1 << 63, 0},
		"an absurd key":  {^uint64(0), ^uint64(0), ^uint64(0)},
		"the key it has": {1 << 63, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVictim(t, 1, 2)
			memory := bytes.Repeat([]byte{7}, 300)
			var r tag.Op
			if err := v.ranks[0].ep.Receive(&r, everything, memory[100:200]); err != nil {
				t.Fatal(err)
			}
			v.send(t, packet(uct.Header{ID: idOffer, Arg: 1}, 5, 1<<46, words[0], words[1], words[2]))
			v.until(t, func() bool { v.answerCall(t, 1); return r.Done() })
			if r.Err == nil {
				t.Error("the receive ended well")
			}
			if !bytes.Equal(memory[:100], memory[200:]) {
				t.Error("something was written beside the buffer")
			}
		})
	}
}

// answerCall says of a call that there is no such key.
func (v *victim) answerCall(t testing.TB, call uint32) {
	const done, noKey = 7, 1
	if v.way.Err() == nil && !v.way.Quiet() {
		v.send(t, packet(uct.Header{ID: done, Arg: call, Bits: noKey}))
	}
}

// TestPeerLostWhileItsMessagesAreHeld: the window of a peer that is lost goes to others, but not
// before its bytes are gone.
func TestPeerLostWhileItsMessagesAreHeld(t *testing.T) {
	v := newVictim(t, 1, 3)
	want := packet(uct.Header{ID: idOffer, Bits: 4}, 99, 1, 0, 0, 0)
	for range 4 { // 16 KiB and the whole pool
		v.send(t, want)
	}
	eager := append(packet(uct.Header{ID: idEager}, 5), make([]byte, 15_000)...)
	for range 5 {
		v.send(t, eager)
	}
	v.settle(t)
	stack := v.ranks[0].stack
	if held := stack.Counts().HeldBytes; held != 75_000 {
		t.Fatalf("%d bytes are kept: %v", held, v.way.Err())
	}
	v.send(t, packet(uct.Header{ID: idTaken + 100, Arg: 1})) // no handler
	v.send(t, packet(uct.Header{ID: idEager}))               // given up
	v.until(t, func() bool { return errors.Is(v.way.Err(), uct.ErrPeer) })
	v.settle(t)

	sends := make([]tag.Op, 40)
	for i := range sends {
		_ = v.ranks[1].ep.Send(&sends[i], peer(1), 6, make([]byte, 4000))
		v.step(t)
	}
	v.until(t, func() bool { return v.ranks[0].ep.Probe(tag.Criteria{Source: peer(2), Tag: 6}) != nil })
	v.step(t)
	maxHeld := 75_000 + 16<<10 + 32<<10 // the least window, and beyond it
	if held := stack.Counts().HeldBytes; held > maxHeld {
		t.Errorf("%d bytes are kept, at most %d may be", held, maxHeld)
	}
	var r tag.Op
	for range 5 { // what came before is still there
		if err := v.ranks[0].ep.Receive(&r, tag.Criteria{Source: peer(0), Tag: 5}, make([]byte, 15_000)); err != nil {
			t.Fatal(err)
		}
		if !r.Done() || r.Err != nil || r.Length != 15_000 {
			t.Fatalf("%+v", r.Result)
		}
	}
	if err := v.ranks[0].ep.Receive(&r, tag.Criteria{Source: peer(0), Tag: 5}, nil); !errors.Is(err, uct.ErrPeer) {
		t.Errorf("a receive from a lost peer: %v", err)
	}
	for i := range sends {
		_ = v.ranks[0].ep.Receive(&r, tag.Criteria{Source: peer(2), Tag: 6}, make([]byte, 4000))
		v.until(t, func() bool { return r.Done() })
		if r.Err != nil {
			t.Fatal(i, r.Err)
		}
	}
	if held := stack.Counts().HeldBytes; held != 0 {
		t.Errorf("%d bytes are kept at the end", held)
	}
}

func randomPacket(r *rand.Rand) []byte {
	values := []uint64{0, 1, 5, 8, 63, 64, 100, 4096, 1 << 20, 1 << 40, 1 << 47, 1<<47 + 1, 1 << 62, 1 << 63, ^uint64(0), r.Uint64()}
	pick := func() uint64 { return values[r.IntN(len(values))] }
	h := uct.Header{ID: idEager + uint8(r.IntN(4))}
	h.Ports = uct.Ports{To: uint8(r.IntN(3)), From: uint8(r.IntN(20))}
	h.Bits, h.Arg = uint8(r.IntN(32)), uint32(pick())
	if r.IntN(30) == 0 {
		h.To = uint8(r.Uint32())
	}
	words := make([]uint64, r.IntN(8))
	for i := range words {
		words[i] = pick()
	}
	if r.IntN(4) == 0 {
		words = append(words, make([]uint64, r.IntN(300))...)
	}
	b := packet(h, words...)
	return b[:len(b)-r.IntN(2)*r.IntN(8)]
}

// TestRandomLies: what one peer says costs bounded memory and ends each operation once; another
// rank goes on.
func TestRandomLies(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 30 {
		for shape, s := range map[string][2]int{"one node": {1, 3}, "three nodes": {3, 1}} {
			t.Run(shape, func(t *testing.T) { newVictim(t, s[0], s[1]).lie(t, r) })
		}
	}
}

func (v *victim) lie(t *testing.T, r *rand.Rand) {
	e, begun, ended := v.ranks[0].ep, 0, 0
	add := func(begin func(*tag.Op) error) {
		begun++
		if begin(&tag.Op{OnDone: func(o *tag.Op) {
			if o.Done() {
				ended++
			}
		}}) != nil {
			begun--
		}
	}
	from := tag.Criteria{Source: peer(0), Ignore: 7}
	for range 40 {
		switch r.IntN(6) {
		case 0:
			add(func(o *tag.Op) error { return e.Receive(o, from, make([]byte, r.IntN(200))) })
		case 1:
			add(func(o *tag.Op) error { return e.ReceiveMany(o, from, make([]byte, 1000), 100) })
		case 2:
			add(func(o *tag.Op) error { return e.Send(o, peer(0), 1, make([]byte, r.IntN(100_000))) })
		case 3:
			if h := e.Claim(from); h != nil {
				e.Discard(h)
			}
		}
		v.send(t, randomPacket(r))
		v.step(t)
	}
	v.settle(t)
	if held := v.ranks[0].stack.Counts().HeldBytes; held > smallPool+16<<10 {
		t.Errorf("%d bytes are kept", held)
	}
	var s, got tag.Op
	_ = e.Receive(&got, tag.Criteria{Source: peer(2), Tag: 77}, make([]byte, 6))
	_ = v.ranks[1].ep.Send(&s, peer(1), 77, []byte("honest"))
	v.until(t, func() bool { return s.Done() && got.Done() })
	if got.Err != nil || string(got.Bytes) != "honest" {
		t.Errorf("the honest rank: %q: %v", got.Bytes, got.Err)
	}
	v.send(t, packet(uct.Header{ID: idEager})) // whatever it was, it is given up now
	v.until(t, func() bool { return v.way.Err() != nil })
	v.settle(t)
	if begun != ended {
		t.Errorf("%d operations began, %d ended", begun, ended)
	}
}

// FuzzPackets has a peer send any bytes: a length in each first byte, then a message.
func FuzzPackets(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 0))
	for range 50 {
		var input []byte
		for range 4 {
			p := randomPacket(r)
			p = p[:min(len(p), 200)]
			input = append(append(input, byte(len(p))), p...)
		}
		f.Add(input)
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		v := newVictim(t, 1, 2)
		ended := 0
		o := tag.Op{OnDone: func(*tag.Op) { ended++ }}
		_ = v.ranks[0].ep.Receive(&o, tag.Criteria{Source: peer(0), Tag: 1, Ignore: 7}, make([]byte, 50))
		for len(input) > 0 {
			n := min(int(input[0]), len(input)-1)
			if m := input[1 : 1+n]; len(m) == 0 || m[0] >= uct.FirstID { // the others are package uct's
				v.send(t, m)
			}
			input = input[1+n:]
			v.step(t)
		}
		v.send(t, packet(uct.Header{ID: idEager}))
		v.until(t, func() bool { return v.way.Err() != nil })
		v.settle(t)
		if ended != 1 {
			t.Fatalf("a receive ended %d times", ended)
		}
	})
}
