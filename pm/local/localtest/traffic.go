package localtest

import "math/rand/v2"

// Traffic makes the same messages at both ends: mostly short ones, some of all lengths.
type Traffic struct {
	random *rand.Rand
	buf    []byte
}

// NewTraffic returns the traffic from one rank to another.
func NewTraffic(from, to int) *Traffic {
	t := &Traffic{random: rand.New(rand.NewPCG(uint64(from), uint64(to))), buf: make([]byte, 1<<17)}
	for i := range t.buf {
		t.buf[i] = byte(t.random.Uint32())
	}
	return t
}

// Next returns the next message, which is valid until it is called again.
func (t *Traffic) Next() []byte {
	r := t.random.Uint32()
	length := int(r>>8) % 65
	switch {
	case r%256 == 0:
		length = int(r>>8) % 65537
	case r%8 == 0:
		length = int(r>>8) % 1500
	}
	at := int(t.random.Uint32()) % (len(t.buf) - length)
	return t.buf[at : at+length]
}

// RandomBytes returns bytes that no buffer has by chance.
func RandomBytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}
