package daemon

import (
	"score/cmd/scored/config"
	"testing"
)

// Jobs have an IPC namespace of their own only where one node has the whole machine.
func TestNodesOfOneMachineShareItsIPC(t *testing.T) {
	for nodes := 1; nodes <= 3; nodes++ {
		c := &devCluster{config: config.Default(), plan: divide(nodes, []int{0, 1}, 8<<30)}
		for _, node := range c.plan {
			if got, want := c.agentSettings(node).Agent.PrivateIPC, nodes == 1; got != want {
				t.Errorf("%s of %d nodes: private_ipc = %t", node.name, nodes, got)
			}
		}
		if c.config.Agent.PrivateIPC = false; c.agentSettings(c.plan[0]).Agent.PrivateIPC {
			t.Errorf("%d nodes: a cluster without it has it", nodes)
		}
	}
}
