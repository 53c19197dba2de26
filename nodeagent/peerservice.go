package nodeagent

import (
	"context"
	"errors"
	"score/nodeagent/filetransfer"
	"score/nodeagent/jobs"
	"score/scored/api/scorev1"
	"score/scored/api/scorev1/scorev1connect"

	"connectrpc.com/connect"
)

// peerService serves the calls of the servers and of the other agents.
type peerService struct {
	jobs.PeerService
	*filetransfer.Transfers
	node string // this one's name
}

var _ scorev1connect.PeerServiceHandler = peerService{}

// Probe implements scorev1connect.PeerServiceHandler.
func (s peerService) Probe(_ context.Context, request *connect.Request[scorev1.ProbeRequest]) (*connect.Response[scorev1.ProbeResponse], error) {
	if node := request.Msg.GetNode(); node != s.node {
		return nil, connect.NewError(connect.CodeNotFound, errors.New("this is not node "+node))
	}
	return connect.NewResponse(&scorev1.ProbeResponse{}), nil
}
