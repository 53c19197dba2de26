package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"score/scored/api/agentpb/agentpbconnect"
	"score/scored/api/identity/pki"
	"score/scored/api/scorev1"
	"score/scored/api/transport/h2"
	"score/scored/leader"

	"connectrpc.com/connect"
)

// maxStageMessage bounds a message with file data: clients send a quarter of a MiB.
const maxStageMessage = 1 << 20

type stageStream = connect.BidiStream[scorev1.StageRequest, scorev1.StageReply]

// Stage implements JobServiceHandler. It forwards files to a node's agent. It buffers nothing, so a
// slow node slows the client down.
func (u users) Stage(ctx context.Context, stream *stageStream) error {
	identity, err := identityOf(ctx)
	if err != nil {
		return err
	}
	first, err := stream.Receive()
	if err != nil {
		return err
	}
	files := first.GetFiles()
	if files == nil || len(files.GetFiles()) == 0 {
		return invalid("the first message must name the staged files")
	}
	if err := checkStagedFiles(files.GetFiles()); err != nil {
		return err
	}
	if err := checkNodeList(files.GetExcludeList()); err != nil {
		return err
	}
	node, address, err := u.Leader.StageSeed(ctx, identity.GetUid(), files.GetNodeList(), files.GetExcludeList())
	if err != nil {
		return err
	}
	files.User = identity
	ctx, cancel := context.WithCancel(ctx)
	peer := u.agentTaking(node, address, maxStageMessage).PutStaged(ctx)
	closed := h2.CloseWith(ctx, peer)
	defer func() { cancel(); <-closed }()
	if err := peer.Send(first); err != nil && !errors.Is(err, io.EOF) {
		return notStaged(node, err)
	}
	// Data flows to the node while the node answers. The goroutine ends when this function has
	// returned, since that closes the request.
	go forwardFiles(stream, peer)
	for {
		reply, err := peer.Receive()
		if err != nil {
			return notStaged(node, err)
		}
		reply.Node = node
		if err := stream.Send(reply); err != nil || reply.GetWhole() {
			return err
		}
	}
}

// notStaged returns the error of a node that refuses the files, or of the loss of the node, after
// which the client sends them again.
func notStaged(node string, err error) error {
	if !connect.IsWireError(err) && pki.FaultOf(err) == pki.FaultNone {
		lost := fmt.Errorf("the connection to node %s was lost while it took the job's files; submit the job again", node)
		return connect.NewError(connect.CodeUnavailable, lost)
	}
	return fmt.Errorf("%w: node %s does not take the job's files: %s", leader.ErrState, node, messageOf(err))
}

// forwardFiles sends the data of files to a node until the client's request ends.
func forwardFiles(stream *stageStream, peer *connect.BidiStreamForClient[scorev1.StageRequest, scorev1.StageReply]) {
	for {
		m, err := stream.Receive()
		if err != nil || m.GetFiles() != nil || peer.Send(m) != nil {
			_ = peer.CloseRequest() // the node notices that data is missing, and reports it
			return
		}
	}
}

// agent returns a client for a node's agent at an address.
func (u users) agent(node, address string) agentpbconnect.PeerServiceClient {
	u.ExpectAgent(address, node)
	return u.agents.At(address)
}

// agentTaking returns such a client that takes messages of up to so many bytes.
func (u users) agentTaking(node, address string, most int) agentpbconnect.PeerServiceClient {
	u.ExpectAgent(address, node)
	return u.newAgent(address, connect.WithReadMaxBytes(most))
}

func (u users) newAgent(address string, options ...connect.ClientOption) agentpbconnect.PeerServiceClient {
	options = append(options, connect.WithAcceptCompression("gzip", nil, nil))
	return agentpbconnect.NewPeerServiceClient(u.Agents, "https://"+address, options...)
}
