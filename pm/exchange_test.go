package pm_test

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"score/pm"
	"strconv"
	"testing"
)

func init() {
	roles["exchange"] = exchange
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// traffic makes the same messages at both ends: mostly short ones, some of all lengths.
type traffic struct {
	random *rand.Rand
	buf    []byte
}

func newTraffic(from, to int) *traffic {
	t := &traffic{random: rand.New(rand.NewPCG(uint64(from), uint64(to))), buf: make([]byte, 1<<17)}
	for i := range t.buf {
		t.buf[i] = byte(t.random.Uint32())
	}
	return t
}

func (t *traffic) next() []byte {
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

// exchange sends messages of random length and content both ways at once, and
// compares checksums of all that was sent and received, in order.
func exchange(ch *pm.Channel) error {
	n, err := strconv.Atoi(os.Getenv("PM_TEST_N"))
	if err != nil {
		return err
	}
	other := 1 - ch.Rank()
	out, in := newTraffic(ch.Rank(), other), newTraffic(other, ch.Rank())
	sent, got, want, have := 0, 0, uint32(0), uint32(0)
	var next []byte
	for sent < n || got < n {
		if sent < n {
			if next == nil {
				next = out.next()
			}
			switch err := post(ch, other, next, sent); {
			case err == nil:
				sent, next = sent+1, nil
				continue
			case !errors.Is(err, pm.ErrFull):
				return err
			}
		}
		m, err := ch.Receive()
		if errors.Is(err, pm.ErrEmpty) {
			if err := await(ch, other, next); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		data, err := m.Bytes()
		if err != nil {
			return err
		}
		expect := in.next()
		want = crc32.Update(want, castagnoli, expect)
		have = crc32.Update(have, castagnoli, data)
		if m.Source() != other || len(data) != len(expect) || want != have {
			return fmt.Errorf("message %d from rank %d has %d bytes, want %d; checksums %08x %08x", got, m.Source(), len(data), len(expect), have, want)
		}
		if err := ch.ReleaseReceiveBuffer(m); err != nil {
			return err
		}
		got++
	}
	return nil
}

// await waits for space if there is something to send, and else for a message.
func await(ch *pm.Channel, to int, next []byte) error {
	if next == nil {
		return ch.Wait(patient())
	}
	return ch.WaitSpace(patient(), to, len(next))
}

// post sends by turns in the two ways there are.
func post(ch *pm.Channel, to int, data []byte, i int) error {
	if i%2 == 0 {
		return ch.SendBytes(to, data)
	}
	buf, err := ch.GetSendBuffer(to, len(data))
	if err != nil {
		return err
	}
	copy(buf, data)
	return ch.Send()
}

func TestMillionMessagesBetweenProcesses(t *testing.T) {
	for _, c := range []struct{ name, env string }{
		{"immediate", pm.EnvImmediate + "=1"},
		{"late", pm.EnvImmediate + "=0"},
		{"whole", pm.EnvOverlap + "=0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := messages
			if testing.Short() || c.name != "immediate" {
				n /= 10
			}
			g := startRanks(t, 2, "exchange", nil, "PM_TEST_N="+strconv.Itoa(n), c.env)
			if err := g.Wait(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
