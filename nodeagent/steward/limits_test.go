package steward

import (
	"score/nodeagent/pmi"
	"score/nodeagent/steward/life"
	"score/scored/api"
	"testing"
)

// The machines, which import no message, and those that check a job have the same bounds.
func TestLimitsOfMachines(t *testing.T) {
	if pmi.MaxRespawns != api.MaxRespawns || life.MaxRespawns != api.MaxRespawns {
		t.Errorf("a rank may ask for %d respawns and gets %d, a user for %d", pmi.MaxRespawns, life.MaxRespawns, api.MaxRespawns)
	}
	if pmi.MaxAsked != 2*api.MaxRanksPerNode {
		t.Errorf("%d requests, for %d ranks", pmi.MaxAsked, api.MaxRanksPerNode)
	}
}
