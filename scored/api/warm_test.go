package api

import (
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
)

// Decoding works the same after Warm; its time is logged, since a machine under
// load keeps no bound.
func TestWarmMakesFirstUseCheap(t *testing.T) {
	data, err := proto.Marshal(&agentpb.ServerMessage{Message: &agentpb.ServerMessage_Prepare{Prepare: &agentpb.Prepare{
		JobId: 1, Spec: &scorev1.JobSpec{Argv: []string{"true"}}, User: &scorev1.Identity{Uid: 1},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	Warm(agentpb.File_score_v1_agent_proto)
	var m agentpb.ServerMessage
	start := time.Now()
	if err := proto.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	t.Logf("first decoding after Warm: %v", time.Since(start))
	if got := m.GetPrepare().GetSpec().GetArgv(); len(got) != 1 || got[0] != "true" {
		t.Errorf("argv %q", got)
	}
}

func BenchmarkWarm(b *testing.B) {
	for b.Loop() {
		Warm(agentpb.File_score_v1_agent_proto)
	}
}
