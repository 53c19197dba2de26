package filetransfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"score/nodeagent/staging"
	"score/scored/api"
	"score/scored/api/agentpb"
	"score/scored/api/quote"
	"score/scored/api/scorev1"

	"connectrpc.com/connect"
)

var errStageMessages = errors.New("the messages do not come in the order of the files")

// FetchStaged implements agentpbconnect.PeerServiceHandler.
func (t *Transfers) FetchStaged(ctx context.Context, r *connect.Request[agentpb.FetchStagedRequest], stream *connect.ServerStream[agentpb.StagedData]) error {
	if err := t.fetchers.check(ctx, r.Msg.GetJobId()); err != nil {
		return err
	}
	file, err := stagedFile(r.Msg.GetFile())
	if err == nil && r.Msg.GetFrom() > uint64(file.Size) {
		err = errors.New("the file is not so long")
	}
	if err != nil {
		return connect.NewError(connect.CodeInvalidArgument, err)
	}
	if !t.options.Cache.HoldsFile(r.Msg.GetJobId(), User(r.Msg.GetUser()), file) {
		return connect.NewError(connect.CodeNotFound, fmt.Errorf("node %s: job %d has no such file", t.options.Node, r.Msg.GetJobId()))
	}
	err = t.options.Cache.Send(ctx, User(r.Msg.GetUser()), file, int64(r.Msg.GetFrom()), func(data []byte) error {
		return stream.Send(&agentpb.StagedData{Data: data})
	})
	if errors.Is(err, staging.ErrAbsent) {
		return connect.NewError(connect.CodeNotFound, fmt.Errorf("node %s: %w", t.options.Node, err))
	}
	if err != nil {
		return connect.NewError(connect.CodeUnavailable, fmt.Errorf("node %s: %w", t.options.Node, err))
	}
	return nil
}

type putStream = connect.BidiStream[scorev1.StageRequest, scorev1.StageReply]

// PutStaged implements agentpbconnect.PeerServiceHandler.
func (t *Transfers) PutStaged(ctx context.Context, stream *putStream) error {
	first, err := stream.Receive()
	if err != nil {
		return err
	}
	order := first.GetFiles()
	files, err := stagedFiles(order.GetFiles())
	if err == nil && (len(files) == 0 || len(files) > api.MaxStagedFiles || order.GetUser() == nil) {
		err = fmt.Errorf("%d files cannot be sent along with a job; at most %d can", len(files), api.MaxStagedFiles)
	}
	if err != nil {
		return connect.NewError(connect.CodeInvalidArgument, err)
	}
	user := User(order.GetUser())
	reply := &scorev1.StageReply{Node: t.options.Node}
	for i, f := range files {
		if !t.options.Cache.Has(user, f) {
			reply.Missing = append(reply.Missing, uint32(i))
		}
	}
	if err := stream.Send(reply); err != nil {
		return err
	}
	for _, i := range reply.GetMissing() {
		if err := t.putOne(ctx, stream, order, files[i]); err != nil {
			return connect.NewError(
				connect.CodeFailedPrecondition,
				fmt.Errorf("node %s: the file %s: %w", t.options.Node, quote.Word(order.GetFiles()[i].GetName()), err),
			)
		}
	}
	return stream.Send(&scorev1.StageReply{Node: t.options.Node, Whole: true})
}

// putTries bounds the attempts to receive a file after another sender of it gave up.
const putTries = 3

// putOne receives one file. If another caller is already sending it, putOne waits for that and
// discards its own data.
func (t *Transfers) putOne(ctx context.Context, stream *putStream, order *scorev1.StageFiles, f staging.File) (err error) {
	rest := incoming{stream: stream, left: f.Size}
	for range putTries {
		began := false
		_, err = t.options.Cache.Get(ctx, User(order.GetUser()), f, func(_ context.Context, _ int64, to io.Writer) error {
			began = true
			return rest.copyTo(to)
		})
		if err == nil || began || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		return err
	}
	return rest.copyTo(io.Discard)
}

// incoming is the rest of a file that a server sends.
type incoming struct {
	stream *putStream
	left   int64 // bytes
}

// copyTo receives the rest and writes it.
func (in *incoming) copyTo(to io.Writer) error {
	for in.left > 0 {
		m, err := in.stream.Receive()
		if err != nil {
			return err
		}
		data := m.GetData()
		if len(data) == 0 || int64(len(data)) > in.left {
			return errStageMessages
		}
		in.left -= int64(len(data))
		if _, err := to.Write(data); err != nil {
			return err
		}
	}
	return nil
}

// ListStaged implements agentpbconnect.PeerServiceHandler.
func (t *Transfers) ListStaged(_ context.Context, r *connect.Request[scorev1.ListStagedRequest]) (*connect.Response[scorev1.ListStagedResponse], error) {
	uid := User(&scorev1.Identity{Uid: r.Msg.GetUid()}).UID
	if r.Msg.GetClear() {
		t.options.Cache.Clear(uid, r.Msg.GetAll())
	}
	reply := &scorev1.ListStagedResponse{}
	for _, kept := range t.options.Cache.List(uid, r.Msg.GetAll()) {
		reply.Staged = append(reply.Staged, &scorev1.Staged{
			Node: t.options.Node, Uid: kept.UID, Files: uint32(kept.Files), Bytes: uint64(kept.Bytes), Held: uint32(kept.Held),
		})
	}
	return connect.NewResponse(reply), nil
}
