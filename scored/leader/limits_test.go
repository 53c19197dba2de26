package leader

import (
	"score/gang"
	"score/scored/api"
	"testing"
)

// The placement, which imports no message, and those that check a job have the same bound.
func TestRanksPerNode(t *testing.T) {
	if gang.MaxRanksPerNode != api.MaxRanksPerNode {
		t.Errorf("the placement puts %d ranks on a node, and the agents take %d", gang.MaxRanksPerNode, api.MaxRanksPerNode)
	}
}
