package hostile

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"score/cmd/scored/config"
	"score/scored/api/agentpb"
	"score/scored/api/agentpb/agentpbconnect"
	"score/scored/api/identity/pki"
	"score/scored/api/identity/pki/pkitest"
	"score/scored/api/transport/h2"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
)

// ofServersOnly are methods that only servers may call: of agents, where users' output, input and
// files go, and of servers.
var ofServersOnly = map[string][]string{
	"n1": {
		agentpbconnect.PeerServiceStdioProcedure, agentpbconnect.PeerServiceConfirmOutputProcedure, agentpbconnect.PeerServicePaceOutputProcedure,
		agentpbconnect.PeerServiceDumpProcedure, agentpbconnect.PeerServicePutStagedProcedure, agentpbconnect.PeerServiceListStagedProcedure,
	},
	"server": {
		agentpbconnect.ServerServiceEnrolProcedure, agentpbconnect.ServerServiceAdmitProcedure,
		agentpbconnect.ServerServiceGetDiskProcedure, agentpbconnect.ServerServiceDescribeProcedure,
	},
}

// Who has stolen the certificate of an agent is asked of jobs of other nodes: he gets none of their
// files, output and keys, speaks for none of their nodes, and calls nothing that is the servers'.
// The job goes on.
func TestStolenAgentCertificate(t *testing.T) {
	s := daemonstest.NewScene(t, daemons.Options{Bin: bin, Nodes: 2, Grace: daemons.Patience})
	gang, err := s.Exchange("gang", "n1,n2", 2)
	s.Check(err)
	_, err = gang.AwaitRounds(s.Ctx, time.Now())
	s.Check(err)
	id, err := gang.ID(s.Ctx)
	s.Check(err)
	key, err := os.ReadFile(s.KeyFile())
	s.Check(err)
	stolen := pkitest.FromKey(t, strings.TrimSpace(string(key)), s.Name, pki.Agent, "n3")
	client := h2.NewClient(stolen, pki.Agent, pki.Server)
	t.Cleanup(client.CloseIdleConnections)
	urls := map[string]string{"server": "https://" + listenOf(s, "server"), "n1": "https://" + listenOf(s, "n1")}
	for daemon, procedures := range ofServersOnly {
		for _, procedure := range procedures {
			response, err := client.Post(urls[daemon]+procedure, "application/proto", http.NoBody)
			s.Check(err)
			response.Body.Close()
			if response.StatusCode != http.StatusForbidden {
				t.Errorf("%s answers %s with %d", daemon, procedure, response.StatusCode)
			}
		}
	}
	agent := agentpbconnect.NewPeerServiceClient(client, urls["n1"])
	for name, ask := range map[string]func() error{
		"files": func() error { return fetchFile(s.Ctx, agent, id) },
		"news of another node": func() error {
			_, err := agent.Gossip(s.Ctx, connect.NewRequest(&agentpb.GossipRequest{JobId: id, Attempt: 1, FromNodeIndex: 1}))
			return err
		},
		"a step of a fence": func() error {
			_, err := agent.Collect(s.Ctx, connect.NewRequest(&agentpb.CollectRequest{JobId: id, FromNodeIndex: 1}))
			return err
		},
		"a message of a steward": func() error {
			_, err := agent.Relay(s.Ctx, connect.NewRequest(&agentpb.RelayRequest{JobId: id, FromJob: id, FromNodeIndex: 1}))
			return err
		},
		"orders of another node": func() error {
			return connectAs(s.Ctx, agentpbconnect.NewAgentServiceClient(client, urls["server"]), s.Name, "n1")
		},
	} {
		if err := ask(); err == nil || !refusedFor(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = gang.AwaitRounds(s.Ctx, time.Now())
	s.Check(err)
	s.End(gang)
}

// refusedFor reports whether it was the certificate for which a call was refused.
func refusedFor(err error) bool {
	return connect.CodeOf(err) == connect.CodePermissionDenied || strings.Contains(err.Error(), "is not the agent of part")
}

// listenOf is where a daemon listens for others.
func listenOf(s *daemonstest.Scene, name string) string {
	settings, err := config.Load(filepath.Join(s.Dir, name+".toml"))
	s.Check(err)
	if name == "server" {
		return settings.Server.AgentsListen
	}
	return settings.Agent.Listen
}

func fetchFile(ctx context.Context, agent agentpbconnect.PeerServiceClient, job uint64) error {
	stream, err := agent.FetchStaged(ctx, connect.NewRequest(&agentpb.FetchStagedRequest{JobId: job}))
	if err != nil {
		return err
	}
	defer stream.Close()
	if stream.Receive() {
		return nil
	}
	return stream.Err()
}

// connectAs calls itself the agent of a node, whose orders have the keys of its jobs.
func connectAs(ctx context.Context, server agentpbconnect.AgentServiceClient, cluster, node string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream := server.Connect(ctx)
	defer func() { _ = stream.CloseResponse() }() // it has said what it is asked for
	hello := &agentpb.Hello{Cluster: cluster, Node: node, BootId: "stolen", ProtocolOldest: 1, ProtocolNewest: 1 << 16}
	if err := stream.Send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Hello{Hello: hello}}); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	_, err := stream.Receive()
	return err
}
