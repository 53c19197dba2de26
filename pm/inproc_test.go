package pm_test

import (
	"score/channels/abi"
	"score/pm"
	"score/pm/local"
	"testing"
)

// join makes ranks that all live in this process.
func join(t testing.TB, ranks int, g abi.Geometry) ([]*pm.Channel, *local.Hub) {
	t.Helper()
	return joinWith(t, ranks, g, pm.DefaultSettings())
}

func joinWith(t testing.TB, ranks int, g abi.Geometry, settings pm.Settings) ([]*pm.Channel, *local.Hub) {
	t.Helper()
	hub, err := local.NewHub(ranks, g)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hub.Close(); err != nil {
			t.Error(err)
		}
	})
	var all []*pm.Channel
	for r := range ranks {
		socket, err := hub.Connect(r)
		if err != nil {
			t.Fatal(err)
		}
		p, err := pm.Join(socket, settings)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
		ch, err := p.Open(1)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ch)
	}
	return all, hub
}

// exchangeOne sends a message and takes it out again.
func exchangeOne(from, to *pm.Channel, data []byte) error {
	if err := from.SendBytes(to.Rank(), data); err != nil {
		return err
	}
	m, err := to.Receive()
	if err != nil {
		m, err = to.Receive() // the first one opened the lane
	}
	if err != nil {
		return err
	}
	return to.ReleaseReceiveBuffer(m)
}

func TestNoAllocationPerMessage(t *testing.T) {
	ranks, _ := join(t, 2, abi.Geometry{})
	for _, size := range []int{0, 8, 100, 5000, 65536} {
		data := make([]byte, size)
		n := testing.AllocsPerRun(200, func() {
			if err := exchangeOne(ranks[0], ranks[1], data); err != nil {
				t.Fatal(err)
			}
			buf, err := ranks[0].GetSendBuffer(1, size)
			if err != nil {
				t.Fatal(err)
			}
			copy(buf, data)
			if err := ranks[0].Send(); err != nil {
				t.Fatal(err)
			}
			if !ranks[1].Poll() {
				t.Fatal("no message")
			}
			m, _ := ranks[1].Receive()
			if _, err := m.Bytes(); err != nil {
				t.Fatal(err)
			}
			if err := ranks[1].ReleaseReceiveBuffer(m); err != nil {
				t.Fatal(err)
			}
		})
		if n != 0 {
			t.Errorf("%d bytes: %v allocations per message", size, n)
		}
	}
}

// BenchmarkInstructions is what a message costs besides the transfer of its cache line:
// both ends are one goroutine.
func BenchmarkInstructions(b *testing.B) {
	ranks, _ := join(b, 2, abi.Geometry{})
	data := make([]byte, 8)
	for b.Loop() {
		if err := exchangeOne(ranks[0], ranks[1], data); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEmptyPoll measures a poll that finds nothing.
func BenchmarkEmptyPoll(b *testing.B) {
	ranks, _ := join(b, 2, abi.Geometry{})
	if err := exchangeOne(ranks[0], ranks[1], nil); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := ranks[1].Receive(); err != pm.ErrEmpty { //nolint:errorlint // Receive returns this very value
			b.Fatal(err)
		}
	}
}
