package rpc

import (
	"context"
	"io"
	"score/scored/api/scorev1"
	"score/scored/backup"
	"time"

	"connectrpc.com/connect"
)

// savePiece is the size of a saved snapshot's messages, in bytes.
const savePiece = 256 << 10

// SaveSnapshot implements ClusterServiceHandler. The state is captured at once, and encoded here
// while the leader goes on.
func (u users) SaveSnapshot(
	ctx context.Context,
	_ *connect.Request[scorev1.SaveSnapshotRequest],
	stream *connect.ServerStream[scorev1.SaveSnapshotResponse],
) error {
	saved, err := u.Leader.Save(ctx)
	if err != nil {
		return err
	}
	data, err := saved.Image.Encode()
	if err != nil {
		return err
	}
	head := backup.Head{Cluster: saved.Cluster, Version: saved.Version, Term: saved.Term, SavedNanos: time.Now().UnixNano()}
	return backup.Write(pieces{stream}, head, data)
}

// pieces is a writer that sends what is written to it.
type pieces struct {
	stream *connect.ServerStream[scorev1.SaveSnapshotResponse]
}

var _ io.Writer = pieces{}

// Write implements io.Writer.
func (p pieces) Write(data []byte) (n int, err error) {
	for n < len(data) {
		piece := data[n:min(n+savePiece, len(data))]
		if err := p.stream.Send(&scorev1.SaveSnapshotResponse{Data: piece}); err != nil {
			return n, err
		}
		n += len(piece)
	}
	return n, nil
}
