package rpc

import (
	"context"
	"score/scored/api/scorev1"

	"connectrpc.com/connect"
)

// DrainNode implements ClusterServiceHandler.
func (u users) DrainNode(ctx context.Context, r *connect.Request[scorev1.DrainNodeRequest]) (*connect.Response[scorev1.DrainNodeResponse], error) {
	if err := checkText("the reason", r.Msg.GetReason(), maxReason); err != nil {
		return nil, err
	}
	identity, err := identityOf(ctx)
	if err != nil {
		return nil, err
	}
	node, err := u.Leader.DrainNode(ctx, r.Msg.GetNode(), r.Msg.GetReason(), identity.GetUser(), r.Msg.GetRequeue())
	return respond(&scorev1.DrainNodeResponse{Node: node}, err)
}

// ResumeNode implements ClusterServiceHandler.
func (u users) ResumeNode(ctx context.Context, r *connect.Request[scorev1.ResumeNodeRequest]) (*connect.Response[scorev1.ResumeNodeResponse], error) {
	node, err := u.Leader.ResumeNode(ctx, r.Msg.GetNode())
	return respond(&scorev1.ResumeNodeResponse{Node: node}, err)
}

// RemoveNode implements ClusterServiceHandler.
func (u users) RemoveNode(ctx context.Context, r *connect.Request[scorev1.RemoveNodeRequest]) (*connect.Response[scorev1.RemoveNodeResponse], error) {
	revoked, err := u.Leader.RemoveNode(ctx, r.Msg.GetNode())
	return respond(&scorev1.RemoveNodeResponse{Revoked: uint32(revoked)}, err)
}
