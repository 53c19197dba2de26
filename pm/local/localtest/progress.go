package localtest

import (
	"errors"
	"score/pm"
	"testing"
	"time"
)

// Patience is how long these functions wait for what must come.
const Patience = 20 * time.Second

// Until calls step until it is done.
func Until(t testing.TB, step func(), done func() bool) {
	t.Helper()
	for start := time.Now(); !done(); {
		step()
		if time.Since(start) > Patience {
			t.Fatal("no progress")
		}
	}
}

// Post sends a message as it is, and calls step while there is no room for it.
func Post(t testing.TB, ch *pm.Channel, to int, message []byte, step func()) {
	t.Helper()
	Until(t, step, func() bool {
		err := ch.SendBytes(to, message)
		if err != nil && !errors.Is(err, pm.ErrFull) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// Drain drops what has come to a channel, and returns how many messages those were.
func Drain(t testing.TB, ch *pm.Channel) (n int) {
	t.Helper()
	for {
		m, err := ch.Receive()
		if errors.Is(err, pm.ErrEmpty) {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
		n++
		if err := ch.ReleaseReceiveBuffer(m); err != nil {
			t.Fatal(err)
		}
	}
}
