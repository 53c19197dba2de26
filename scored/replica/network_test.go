package replica

import (
	"errors"
	"testing"

	"github.com/hashicorp/raft"
)

// Raft's pipelines are off, see rpcsInFlight.
func TestNoPipelines(t *testing.T) {
	plug := newWire().plug(t, "s1", "127.0.0.1:0")
	p := newPeers(plug, plug.Addr().String(), raft.DefaultConfig())
	defer p.NetworkTransport.Close()
	if _, err := p.AppendEntriesPipeline("s2", "127.0.0.1:1"); !errors.Is(err, raft.ErrPipelineReplicationNotSupported) {
		t.Errorf("a pipeline: %v", err)
	}
}
