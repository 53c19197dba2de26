package rpc

import (
	"context"
	"errors"
	"fmt"
	"score/scored/api/scorev1"
	"score/scored/leader"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/zap"
)

const (
	// maxDumpMessage bounds one part of a dump; agents send a quarter of a MiB.
	maxDumpMessage = 1 << 20
	// dumpNodePatience bounds the dump of one node: the largest dump to a slow client.
	dumpNodePatience = 5 * time.Minute
)

type dumpStream = connect.ServerStream[scorev1.DumpPart]

// DumpJob implements JobServiceHandler. It forwards the dumps of the job's nodes to the client, one
// node after the other. It buffers nothing, so a slow client slows the nodes down.
func (u users) DumpJob(ctx context.Context, r *connect.Request[scorev1.DumpJobRequest], stream *dumpStream) error {
	sources, err := u.Leader.DumpSources(ctx, r.Msg, callerOf(ctx))
	if err != nil {
		return err
	}
	for _, source := range sources {
		sent, err := u.dumpNode(ctx, source, r.Msg, stream)
		if sent != nil {
			return sent
		}
		if err == nil {
			continue
		}
		u.Logger.Warn("a node's part of a dump is missing", zap.Uint64("job", source.Job), zap.String("node", source.Node), zap.Error(err))
		text := fmt.Sprintf("of node %s something is missing: %s", source.Node, messageOf(err))
		if err := stream.Send(&scorev1.DumpPart{Part: &scorev1.DumpPart_Trouble{Trouble: text}}); err != nil {
			return err
		}
	}
	return nil
}

// dumpNode forwards the dump of one node; sent is the error of sending to the client.
func (u users) dumpNode(ctx context.Context, source *leader.Source, request *scorev1.DumpJobRequest, stream *dumpStream) (sent, err error) {
	ctx, cancel := context.WithTimeout(ctx, dumpNodePatience)
	defer cancel()
	peer := u.agentTaking(source.Node, source.Address, maxDumpMessage)
	ask := connect.NewRequest(request)
	parts, err := peer.Dump(ctx, ask)
	if err != nil {
		return nil, err
	}
	defer func() { _ = parts.Close() }() // the rest is not needed
	for parts.Receive() {
		if err := stream.Send(parts.Msg()); err != nil {
			return err, nil
		}
	}
	return nil, parts.Err()
}

func messageOf(err error) string {
	if refused, ok := errors.AsType[*connect.Error](err); ok {
		return refused.Message()
	}
	return err.Error()
}
