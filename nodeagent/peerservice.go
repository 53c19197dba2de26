package nodeagent

import (
	"context"
	"errors"
	"score/nodeagent/filetransfer"
	"score/nodeagent/jobs"
	"score/scored/api/agentpb"
	"score/scored/api/agentpb/agentpbconnect"

	"connectrpc.com/connect"
)

// peerService serves the calls of the servers and of the other agents.
type peerService struct {
	jobs.PeerService
	*filetransfer.Transfers
	node string // this one's name
}

var _ agentpbconnect.PeerServiceHandler = peerService{}

// Probe implements agentpbconnect.PeerServiceHandler.
func (s peerService) Probe(_ context.Context, request *connect.Request[agentpb.ProbeRequest]) (*connect.Response[agentpb.ProbeResponse], error) {
	if node := request.Msg.GetNode(); node != s.node {
		return nil, connect.NewError(connect.CodeNotFound, errors.New("this is not node "+node))
	}
	return connect.NewResponse(&agentpb.ProbeResponse{}), nil
}
