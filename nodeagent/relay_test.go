package nodeagent

import (
	"errors"
	"score/nodeagent/jobtable"
	"score/nodeagent/peers"
	"score/scored/api/scorev1"
	"testing"
)

// A message to a spawned job may overtake the order that brings the job; one to a job that is over
// comes back.
func TestRelayOvertakesTheJob(t *testing.T) {
	a := Agent{jobs: jobtable.New[*job]()}
	request := &scorev1.RelayRequest{JobId: 7}
	if err := a.relay(t.Context(), request); err == nil || errors.Is(err, peers.ErrNoPart) {
		t.Errorf("before the job: %v", err)
	}
	a.jobs.Forget(7)
	if err := a.relay(t.Context(), request); !errors.Is(err, peers.ErrNoPart) {
		t.Errorf("after it: %v", err)
	}
}
