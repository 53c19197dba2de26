package steward

import (
	"score/nodeagent/fence"
	"score/scored/api/agentpb"
	"testing"

	"google.golang.org/protobuf/proto"
)

// Whatever another node sends as a step of a fence is taken, or ends the job's fences.
func FuzzReadCollective(f *testing.F) {
	step, err := proto.Marshal(&agentpb.CollectRequest{Sequence: 1, Algorithm: uint32(fence.BruckAlgorithm), Data: [][]byte{{1, 'x'}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(step, uint32(1))
	f.Add([]byte("nonsense"), uint32(0))
	f.Fuzz(func(t *testing.T, data []byte, from uint32) {
		m, err := readCollective(data)
		if err != nil {
			return
		}
		for _, nodes := range []int{2, 12} {
			smallExchange, err := fence.NewSmallExchange(nodes, 0, fence.Auto)
			if err != nil {
				t.Fatal(err)
			}
			smallExchange.Add(fence.Op{Kind: fence.KindFence, Seq: 1}, []byte("y"))
			smallExchange.Receive(int(from), m)
		}
	})
}
