package jobs

import (
	"errors"
	"score/nodeagent/peers"
	"score/scored/api/scorev1"
	"testing"
)

// A message to a spawned job may overtake the order that brings the job; one to a job that is over
// comes back.
func TestRelayOvertakesTheJob(t *testing.T) {
	js := New(Options{})
	request := &scorev1.RelayRequest{JobId: 7}
	if err := js.relay(t.Context(), request); err == nil || errors.Is(err, peers.ErrNoPart) {
		t.Errorf("before the job: %v", err)
	}
	js.table.Forget(7)
	if err := js.relay(t.Context(), request); !errors.Is(err, peers.ErrNoPart) {
		t.Errorf("after it: %v", err)
	}
}
