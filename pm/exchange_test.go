package pm_test

import (
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"score/pm"
	"score/pm/local/localtest"
	"strconv"
	"testing"
)

func init() {
	roles["exchange"] = exchange
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// exchange sends messages of random length and content both ways at once, and
// compares checksums of all that was sent and received, in order.
func exchange(ch *pm.Channel) error {
	n, err := strconv.Atoi(os.Getenv("PM_TEST_N"))
	if err != nil {
		return err
	}
	other := 1 - ch.Rank()
	out, in := localtest.NewTraffic(ch.Rank(), other), localtest.NewTraffic(other, ch.Rank())
	sent, got, want, have := 0, 0, uint32(0), uint32(0)
	var next []byte
	for sent < n || got < n {
		if sent < n {
			if next == nil {
				next = out.Next()
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
			if err := awaitSend(ch, other, next); err != nil {
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
		expect := in.Next()
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

// awaitSend waits for space if there is something to send, and else for a message.
func awaitSend(ch *pm.Channel, to int, next []byte) error {
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
			g := startRanks(t, 2, "exchange", "PM_TEST_N="+strconv.Itoa(n), c.env)
			if err := g.Wait(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
