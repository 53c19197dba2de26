package server

import (
	"context"
	"net/http"
	"path/filepath"
	"score/scored/api/agentpb"
	"score/scored/api/agentpb/agentpbconnect"
	"score/scored/api/identity/pki"
	"score/scored/api/identity/pki/pkitest"
	"score/scored/api/scorev1"
	"score/scored/api/scorev1/scorev1connect"
	"score/scored/api/transport/h2"
	"score/scored/api/transport/h2/h2test"
	"testing"

	"connectrpc.com/connect"
)

// instantAgent prepares, starts and ends every job at once.
type instantAgent struct {
	agentpbconnect.UnimplementedPeerServiceHandler
}

// Stdio implements PeerServiceHandler: there is no output.
func (instantAgent) Stdio(_ context.Context, stream *connect.BidiStream[agentpb.StdioUp, agentpb.StdioDown]) error {
	if _, err := stream.Receive(); err != nil {
		return err
	}
	return stream.Send(&agentpb.StdioDown{Message: &agentpb.StdioDown_Drained{Drained: true}})
}

func serveInstantAgent(b *testing.B, s *Server) {
	b.Helper()
	mux := http.NewServeMux()
	mux.Handle(agentpbconnect.NewPeerServiceHandler(instantAgent{}))
	own := pkitest.FromKey(b, "key", "lab", pki.Agent, "n1")
	peer, listener := h2.NewServer(mux), h2test.Listen(b, own, pki.Server)
	go peer.Serve(listener)
	b.Cleanup(func() { peer.Close() })
	stream := agentpbconnect.NewAgentServiceClient(h2.NewClient(own, pki.Server), s.AgentURL()).Connect(context.Background())
	say := func(m *agentpb.AgentMessage) {
		if err := stream.Send(m); err != nil {
			b.Error(err)
		}
	}
	say(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Hello{Hello: &agentpb.Hello{
		Cluster: "lab", Node: "n1", Address: listener.Addr().String(), Version: "v1", Cpus: 4, MemoryBytes: 1 << 30, BootId: "b",
	}}})
	go func() {
		for job := uint64(0); ; {
			m, err := stream.Receive()
			if err != nil {
				return
			}
			if p := m.GetPrepare(); p != nil {
				job = p.GetJobId()
				say(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Prepared{Prepared: &agentpb.Prepared{JobId: job}}})
			}
			if rows := m.GetPlan().GetRows(); len(rows) > 0 && job != 0 {
				say(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Launched{Launched: &agentpb.Launched{JobId: job, AtNanos: 1}}})
				say(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_RankExited{RankExited: &agentpb.RankExited{JobId: job}}})
				say(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_NodeDone{NodeDone: &agentpb.NodeDone{JobId: job}}})
				job = 0
			}
		}
	}()
}

// BenchmarkJob measures the server's part of a job, from Submit to the end, with an agent that
// takes no time.
func BenchmarkJob(b *testing.B) {
	for _, kind := range []string{"disk", "memory"} {
		b.Run(kind, func(b *testing.B) {
			dir := b.TempDir()
			o := Options{
				UserSocket: filepath.Join(dir, "sock"), AgentListen: "127.0.0.1:0",
				ClusterKey: "key", ClusterName: "lab", Version: "v1",
			}
			if kind == "disk" {
				o.DataDir = filepath.Join(dir, "data")
			}
			s, _ := start(b, o)
			serveInstantAgent(b, s)
			if err := s.WaitForNodes(b.Context(), 1); err != nil {
				b.Fatal(err)
			}
			jobs, _ := users(b, o.UserSocket)
			for b.Loop() {
				runJob(b, jobs)
			}
		})
	}
}

func runJob(b *testing.B, jobs scorev1connect.JobServiceClient) {
	request := connect.NewRequest(&scorev1.SubmitRequest{Spec: &scorev1.JobSpec{Argv: []string{"a.out"}, WorkDir: "/", Tasks: 1}})
	r, err := jobs.Submit(b.Context(), request)
	if err != nil {
		b.Fatal(err)
	}
	stream := jobs.Attach(b.Context())
	open := &scorev1.AttachRequest_Open{JobId: r.Msg.GetJobId(), Owner: true}
	if err := stream.Send(&scorev1.AttachRequest{Request: &scorev1.AttachRequest_Open_{Open: open}}); err != nil {
		b.Fatal(err)
	}
	for {
		event, err := stream.Receive()
		if err != nil {
			b.Fatal(err)
		}
		if v := event.GetEnded(); v != nil {
			if v.GetReason() != scorev1.EndReason_END_REASON_EXITED {
				b.Fatal(v)
			}
			break
		}
	}
	_ = stream.CloseRequest()  // it is over
	_ = stream.CloseResponse() // as above
}
