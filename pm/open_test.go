package pm_test

import (
	"errors"
	"math"
	"score/channels/abi"
	"score/pm"
	"score/pm/local"
	"strings"
	"testing"
)

// TestOpenErrors: failures to open are errors of this package.
func TestOpenErrors(t *testing.T) {
	hub, err := local.NewHub(2, abi.Geometry{})
	if err != nil {
		t.Fatal(err)
	}
	defer hub.Close()
	socket, err := hub.Connect(0)
	if err != nil {
		t.Fatal(err)
	}
	p, err := pm.Join(socket, pm.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, number := range []int{0, -1, pm.MaxChannel + 1, math.MaxInt32 + 1, math.MinInt} {
		if _, err := p.Open(number); !errors.Is(err, pm.ErrChannel) || !strings.Contains(err.Error(), "1 to 15") {
			t.Errorf("channel %d: %v", number, err)
		}
	}
	ch, err := p.Open(pm.MaxChannel)
	if err != nil {
		t.Fatal(err)
	}
	if err := hub.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Open(1); !errors.Is(err, pm.ErrNode) {
		t.Errorf("without the daemon: %v", err)
	}
	if err := ch.SendBytes(1, nil); !errors.Is(err, pm.ErrNode) {
		t.Errorf("first message without the daemon: %v", err)
	}
	if err := ch.SendBytes(0, nil); err != nil && !errors.Is(err, pm.ErrNode) {
		t.Errorf("to itself: %v", err)
	}
}
