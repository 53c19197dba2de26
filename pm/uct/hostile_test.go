package uct_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"score/pm"
	"score/pm/local/localtest"
	"score/pm/mem/atomics"
	"score/pm/uct"
	"testing"
)

// victim is rank 1 of a job whose rank 0 sends what it likes. Rank 2, if there is one, is honest.
type victim struct {
	job    // of ranks 1 and on, at their places; rank 0 is nil
	raw    *pm.Channel
	memory []byte      // around the region's
	region *uct.Region // of registered memory
	window *uct.Region
}

const guard = 4096 // bytes on both sides of the region

func newVictim(t testing.TB, nodes, perNode int) *victim {
	t.Helper()
	started := localtest.Start(t, nodes, perNode, pm.DefaultSettings())
	v := &victim{job: make(job, nodes*perNode), raw: started.Channels[0], memory: make([]byte, 3*guard)}
	for at := 1; at < len(v.job); at++ {
		r := &rank{worker: uct.NewWorker(), md: uct.NewMD(0)}
		r.iface = r.worker.Open(started.Channels[at], r.md)
		t.Cleanup(func() { _, _ = r.worker.Close(), r.md.Close() })
		v.job[at] = r
	}
	var err error
	if v.region, err = v.job[1].md.RegisterKey(7, v.memory[guard:2*guard], uct.RemoteAll); err != nil {
		t.Fatal(err)
	}
	if v.window, err = v.job[1].md.Alloc(guard, uct.RemoteAll); err != nil {
		t.Fatal(err)
	}
	return v
}

// step makes progress, and throws away what comes to rank 0.
func (v *victim) step(t testing.TB) (n int) {
	for _, r := range v.job[1:] {
		n += r.worker.Progress()
	}
	return n + localtest.Drain(t, v.raw)
}

func (v *victim) until(t testing.TB, done func() bool) {
	t.Helper()
	localtest.Until(t, func() { v.step(t) }, done)
}

// send sends a message as it is.
func (v *victim) send(t testing.TB, message []byte) {
	t.Helper()
	localtest.Post(t, v.raw, 1, message, func() { v.step(t) })
}

// settle makes progress until all that was sent has come, or the peer was given up.
func (v *victim) settle(t testing.TB) {
	t.Helper()
	ep, err := v.job[1].iface.EP(0)
	if err != nil {
		t.Fatal(err)
	}
	came := false
	v.job[1].iface.Handle(lastID, func(*uct.Packet) { came = true })
	if ep.Err() == nil {
		v.send(t, packet(uct.Header{ID: lastID}))
	}
	v.until(t, func() bool { return came || ep.Err() != nil })
	v.until(t, func() bool { return v.step(t) == 0 })
}

const lastID = 255 // of the message behind all others

// packet is a message with a header and words behind it.
func packet(h uct.Header, words ...uint64) []byte {
	b := []byte{h.ID, h.To, h.From, h.Bits}
	b = binary.LittleEndian.AppendUint32(b, h.Arg)
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

// checkGuards fails if something was written beside the region.
func (v *victim) checkGuards(t testing.TB) {
	t.Helper()
	zero := make([]byte, guard)
	if !bytes.Equal(v.memory[:guard], zero) || !bytes.Equal(v.memory[2*guard:], zero) {
		t.Fatal("something was written outside of the region")
	}
}

func TestForgedMessages(t *testing.T) {
	const no, all = uint64(99), ^uint64(0)
	get := uct.Header{ID: uct.IDGet, Arg: 1}
	for name, c := range map[string]struct {
		message []byte
		up      bool // the peer is given up
	}{
		"nothing":                         {nil, false},
		"half a header":                   {[]byte{uct.IDPut, 0, 0}, false},
		"an identifier without a handler": {packet(uct.Header{ID: 200}), false},
		"identifier 0":                    {packet(uct.Header{}), false},
		"an acknowledgement of nothing":   {packet(uct.Header{ID: uct.IDAck, Arg: 0}), false},
		"an acknowledgement too far":      {packet(uct.Header{ID: uct.IDAck, Arg: 5}), true},
		"one far back":                    {packet(uct.Header{ID: uct.IDAck, Arg: 1 << 31}), true},
		"a nak without its end":           {packet(uct.Header{ID: uct.IDNak}), true},
		"a nak of success":                {packet(uct.Header{ID: uct.IDNak}, 5), true},
		"a nak of an unknown kind":        {packet(uct.Header{ID: uct.IDNak, Bits: 77}, 5), true},
		"a nak of nothing":                {packet(uct.Header{ID: uct.IDNak, Bits: 1}, all), false},
		"a put without a place":           {packet(uct.Header{ID: uct.IDPut}, 7), true},
		"a put without its data":          {packet(uct.Header{ID: uct.IDPut, Bits: uct.Bit}, 7, 0), true},
		"a put to no key":                 {packet(uct.Header{ID: uct.IDPut}, no, 0, 1), false},
		"a put beyond":                    {packet(uct.Header{ID: uct.IDPut}, 7, guard-7, 1), false},
		"a put before":                    {packet(uct.Header{ID: uct.IDPut}, 7, all-3, 1), false},
		"a put to an exposed key":         {packet(uct.Header{ID: uct.IDPut}, 1<<62, 0, 1), false},
		"a copy from nowhere":             {packet(uct.Header{ID: uct.IDPutCopy}, 7, 0, 100, 8), true},
		"a copy from the last byte":       {packet(uct.Header{ID: uct.IDPutCopy}, 7, 0, 100, all), true},
		"a copy too long":                 {packet(uct.Header{ID: uct.IDPutCopy}, 7, 0, 1<<40, 8), false},
		"a copy of an absurd length":      {packet(uct.Header{ID: uct.IDPutCopy}, 7, 8, all, 8), false},
		"a copy cut short":                {packet(uct.Header{ID: uct.IDPutCopy}, 7, 0, 100), true},
		"a get cut short":                 {packet(get, 7, 0, 8), true},
		"a get of an absurd length":       {packet(get, 7, 1, all, 0), false},
		"a get from an exposed key":       {packet(get, 1<<62|77, 0, 8, 0), false},
		"a get of call 0":                 {packet(uct.Header{ID: uct.IDGet}, 7, 0, 8, 0), false},
		"a get to nowhere":                {packet(get, 7, 0, 8, 8), true},
		"data nobody asked for":           {packet(uct.Header{ID: uct.IDData, Arg: 1}, 0, 1), true},
		"data of call 0":                  {packet(uct.Header{ID: uct.IDData}, 0, 1), true},
		"data of a far call":              {packet(uct.Header{ID: uct.IDData, Arg: 1 << 31}, 0, 1), true},
		"data without a place":            {packet(uct.Header{ID: uct.IDData, Arg: 1}), true},
		"the end of no call":              {packet(uct.Header{ID: uct.IDDone, Arg: 1}), true},
		"an atomic cut short":             {packet(uct.Header{ID: uct.IDAtomic}, 7, 0), true},
		"an atomic without operands":      {packet(uct.Header{ID: uct.IDAtomic}, 7, 0, 8<<32), true},
		"an atomic of 4 GiB":              {packet(uct.Header{ID: uct.IDAtomic}, 7, 0, 0xffffffff<<32), true},
		"an atomic of no kind":            {packet(uct.Header{ID: uct.IDAtomic}, 7, 0, 8<<32|0xfff, 1), false},
		"an atomic of 3 bytes of 8":       {append(packet(uct.Header{ID: uct.IDAtomic}, 7, 0, 3<<32|uint64(atomics.Uint64)<<8), 1, 2, 3), false},
		"a fetch of no kind":              {packet(uct.Header{ID: uct.IDAtomic, Arg: 9}, 7, 0, 8<<32|0xfff, 1), false},
		"a compare without a value":       {packet(uct.Header{ID: uct.IDAtomic}, 7, 0, 8<<32|uint64(atomics.Uint64)<<8|1<<16, 1), false},
		"a question cut short":            {packet(uct.Header{ID: uct.IDDescribe}), true},
		"a question about no key":         {packet(uct.Header{ID: uct.IDDescribe}, no), false},
		"a description cut short":         {packet(uct.Header{ID: uct.IDDescription}, 7), true},
		"a description nobody asked for":  {append(packet(uct.Header{ID: uct.IDDescription}), make([]byte, uct.DescriptionBytes)...), false},
		"an answer nobody asked for":      {packet(uct.Header{ID: uct.IDCopies, Bits: uct.CopiesYes}), true},
		"a question of no kind":           {packet(uct.Header{ID: uct.IDCopies, Bits: 9}), true},
	} {
		for shape, s := range localtest.Shapes {
			t.Run(name+"/"+shape, func(t *testing.T) {
				v := newVictim(t, s[0], s[1])
				v.send(t, c.message)
				v.settle(t)
				ep, err := v.job[1].iface.EP(0)
				if err != nil {
					t.Fatal(err)
				}
				if up := errors.Is(ep.Err(), uct.ErrPeer); up != c.up {
					t.Errorf("given up: %v (%v), want %v", up, ep.Err(), c.up)
				}
				v.checkGuards(t)
				if !bytes.Equal(v.memory, make([]byte, len(v.memory))) {
					t.Error("memory was changed")
				}
			})
		}
	}
}

// TestLiesAboutOwnOperations: the peer answers what it was asked with nonsense. Each operation ends
// once, with the reason, and nothing is written outside of its buffer.
func TestLiesAboutOwnOperations(t *testing.T) {
	for name, answer := range map[string][]byte{
		"beyond the buffer":    append(packet(uct.Header{ID: uct.IDData, Arg: 1}, 60), make([]byte, 8)...),
		"far beyond":           append(packet(uct.Header{ID: uct.IDData, Arg: 1}, 1<<63), make([]byte, 8)...),
		"more than the buffer": append(packet(uct.Header{ID: uct.IDData, Arg: 1}, 0), make([]byte, 1000)...),
		"a status of no kind":  packet(uct.Header{ID: uct.IDDone, Arg: 1, Bits: 99}),
		"an acknowledgement":   packet(uct.Header{ID: uct.IDAck, Arg: 1}),
		"goodbye":              packet(uct.Header{ID: uct.IDBye}),
	} {
		t.Run(name, func(t *testing.T) {
			v := newVictim(t, 1, 2)
			ep, err := v.job[1].iface.EP(0)
			if err != nil {
				t.Fatal(err)
			}
			memory := make([]byte, 3*64)
			var d done
			if err := ep.Get(memory[64:128], uct.Remote{Key: 1}, &d); err != nil {
				t.Fatal(err)
			}
			v.send(t, answer)
			v.until(t, func() bool { return d.n > 0 })
			v.settle(t)
			if d.n != 1 || d.err == nil || v.job[1].iface.Owed() != 0 || v.job[1].iface.Calls() != 0 {
				t.Errorf("completed %d times with %v; %d are owed", d.n, d.err, v.job[1].iface.Owed())
			}
			if !bytes.Equal(memory, make([]byte, len(memory))) {
				t.Error("something was written")
			}
			if err := ep.Put(memory, uct.Remote{Key: 1}, nil); err == nil {
				t.Error("a put to a peer that was given up")
			}
		})
	}
}

// TestGuessedCall: an answer to a call that has not been sent, for want of room, ends the peer and
// not the list of operations.
func TestGuessedCall(t *testing.T) {
	v := newVictim(t, 1, 2)
	ep, err := v.job[1].iface.EP(0)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{60_000, 1000, 0} {
		for ep.Send(uct.Header{ID: firstID}, make([]byte, size)) == nil {
		}
	}
	var d done
	buf := make([]byte, 8)
	for range 3 {
		if err := ep.Get(buf, uct.Remote{Key: 1}, &d); err != nil {
			t.Fatal(err)
		}
	}
	if err := v.raw.SendBytes(1, packet(uct.Header{ID: uct.IDDone, Arg: 1})); err != nil {
		t.Fatal(err)
	}
	for range 10 { // rank 0 takes nothing, so that no call goes out
		v.job[1].worker.Progress()
	}
	if d.n != 3 || !errors.Is(ep.Err(), uct.ErrPeer) || v.job[1].iface.Owed() != 0 {
		t.Errorf("%d completed, %d are owed: %v", d.n, v.job[1].iface.Owed(), ep.Err())
	}
}

// TestFloods: a peer that asks all the time and takes no answer costs bounded memory.
func TestFloods(t *testing.T) {
	for name, message := range map[string][]byte{
		"gets":      packet(uct.Header{ID: uct.IDGet, Arg: 1}, 7, 0, guard, 0),
		"bad puts":  packet(uct.Header{ID: uct.IDPut}, 99, 0, 1),
		"questions": packet(uct.Header{ID: uct.IDDescribe}, 1),
		"copies":    packet(uct.Header{ID: uct.IDCopies}),
	} {
		t.Run(name, func(t *testing.T) {
			v := newVictim(t, 1, 2)
			for range 20_000 {
				for errors.Is(v.raw.SendBytes(1, message), pm.ErrFull) {
					v.job[1].worker.Progress()
				}
				v.job[1].worker.Progress()
			}
			ep, err := v.job[1].iface.EP(0)
			if err != nil {
				t.Fatal(err)
			}
			if n := ep.Serves(); n > uct.MaxServes {
				t.Errorf("%d answers wait", n)
			}
		})
	}
}

// interesting are words that lies are made of.
func interesting(r *rand.Rand, v *victim) uint64 {
	words := []uint64{
		0, 1, 2, 7, 8, 63, 64, guard - 8, guard, guard + 1, 1 << 16, 1 << 32, 1 << 40, 1 << 62, 1<<62 | 1, 1<<63 - 1, 1 << 63,
		^uint64(0), ^uint64(7), v.window.Key(), v.region.Key(), 8<<32 | uint64(atomics.Uint64)<<8, r.Uint64(),
	}
	return words[r.IntN(len(words))]
}

// randomPacket is close to what a peer sends.
func randomPacket(r *rand.Rand, v *victim) []byte {
	h := uct.Header{ID: uint8(r.IntN(15)), Ports: uct.Ports{To: uint8(r.Uint32())}, Bits: uint8(r.IntN(7)), Arg: uint32(interesting(r, v))}
	words := make([]uint64, r.IntN(9))
	for i := range words {
		words[i] = interesting(r, v)
	}
	b := packet(h, words...)
	if h.ID == uct.IDPutCopy && len(words) > 3 || h.ID == uct.IDGet && len(words) > 3 {
		binary.LittleEndian.PutUint64(b[8+24:], uint64(r.IntN(2))*8) // no address at which this process has something
	}
	return b[:len(b)-r.IntN(2)*r.IntN(min(8, len(b)))]
}

// TestRandomLies: whatever comes, operations end once, memory beside the regions stays, and an
// honest rank goes on.
func TestRandomLies(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for shape, s := range map[string][2]int{"one node": {1, 3}, "three nodes": {3, 1}} {
		t.Run(shape, func(t *testing.T) {
			v := newVictim(t, s[0], s[1])
			for range 400 {
				v.lieOnce(t, r, 1+r.IntN(12))
			}
		})
	}
}

func (v *victim) lieOnce(t *testing.T, r *rand.Rand, n int) {
	t.Helper()
	i := v.job[1].iface
	ep, err := i.EP(0)
	if err != nil {
		t.Fatal(err)
	}
	memory := make([]byte, 3*64)
	begun, d := 0, done{}
	begin := func(err error) {
		if err == nil {
			begun++
		}
	}
	for range n {
		at := uct.Remote{Key: interesting(r, v)}
		switch r.IntN(6) {
		case 0:
			begin(ep.Get(memory[64:128], at, &d))
		case 1:
			begin(ep.Put(memory[:64], at, &d))
		case 2:
			sum := uct.AtomicKind{Op: atomics.Sum, Type: atomics.Uint64}
			begin(ep.FetchAtomic(sum, memory[:8], nil, memory[64:72], at, &d))
		}
		v.send(t, randomPacket(r, v))
		v.step(t)
	}
	v.settle(t)
	v.checkGuards(t)
	i.Forget(0)
	if d.n != begun || i.Owed() != 0 || i.Calls() != 0 {
		t.Fatalf("%d of %d completed, %d are owed, %d calls", d.n, begun, i.Owed(), i.Calls())
	}
	if zero := make([]byte, 64); !bytes.Equal(memory[:64], zero) || !bytes.Equal(memory[128:], zero) {
		t.Fatal("something was written beside the buffer of a get")
	}
	honest, err := v.job[2].iface.EP(1)
	if err != nil {
		t.Fatal(err)
	}
	var h done
	if err := honest.Put([]byte("honest"), uct.Remote{Key: 7, Offset: 8}, &h); err != nil {
		t.Fatal(err)
	}
	v.until(t, func() bool { return h.n == 1 })
	if h.err != nil || string(v.region.Bytes()[8:14]) != "honest" {
		t.Fatalf("the honest rank: %v", h.err)
	}
}

// FuzzPackets has a peer send any bytes: a length in each first byte, then a message.
func FuzzPackets(f *testing.F) {
	v := newVictim(f, 1, 3)
	r := rand.New(rand.NewPCG(1, 0))
	for range 50 {
		var input []byte
		for range 3 {
			p := randomPacket(r, v)
			input = append(append(input, byte(len(p))), p...)
		}
		f.Add(input)
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		ep, err := v.job[1].iface.EP(0)
		if err != nil {
			t.Fatal(err)
		}
		var d done
		buf := make([]byte, 64)
		_ = ep.Get(buf[:8:8], uct.Remote{Key: 3}, &d)
		for len(input) > 0 {
			n := min(int(input[0]), len(input)-1)
			if message := input[1 : 1+n]; !names(message) {
				v.send(t, message)
			}
			input = input[1+n:]
			v.step(t)
		}
		v.settle(t)
		v.checkGuards(t)
		v.job[1].iface.Forget(0)
		if d.n != 1 {
			t.Fatalf("completed %d times", d.n)
		}
	})
}

// names reports whether a message names memory of its sender by address: here that is the test's
// own, and copying to it is what the peer asks for.
func names(message []byte) bool {
	return len(message) > 0 && (message[0] == uct.IDPutCopy || message[0] == uct.IDGet)
}
