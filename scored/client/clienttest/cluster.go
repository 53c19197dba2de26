package clienttest

import (
	"context"
	"score/scored/api/scorev1"
	"score/scored/api/scorev1/scorev1connect"

	"connectrpc.com/connect"
)

// nodes implements the service of the cluster.
type nodes struct {
	scorev1connect.UnimplementedClusterServiceHandler
	daemon Daemon
}

func (n nodes) ListNodes(ctx context.Context, r *connect.Request[scorev1.ListNodesRequest]) (*connect.Response[scorev1.ListNodesResponse], error) {
	if n.daemon.Nodes == nil {
		return n.UnimplementedClusterServiceHandler.ListNodes(ctx, r)
	}
	return reply(&scorev1.ListNodesResponse{Nodes: n.daemon.Nodes(), NowNanos: n.daemon.Now}, nil)
}

func (n nodes) DrainNode(ctx context.Context, r *connect.Request[scorev1.DrainNodeRequest]) (*connect.Response[scorev1.DrainNodeResponse], error) {
	if n.daemon.DrainNode == nil {
		return n.UnimplementedClusterServiceHandler.DrainNode(ctx, r)
	}
	node, err := n.daemon.DrainNode(r.Msg)
	return reply(&scorev1.DrainNodeResponse{Node: node}, err)
}

func (n nodes) ResumeNode(ctx context.Context, r *connect.Request[scorev1.ResumeNodeRequest]) (*connect.Response[scorev1.ResumeNodeResponse], error) {
	if n.daemon.ResumeNode == nil {
		return n.UnimplementedClusterServiceHandler.ResumeNode(ctx, r)
	}
	answer := &scorev1.ResumeNodeResponse{}
	for _, node := range n.daemon.Nodes() {
		if node.GetName() == r.Msg.GetNode() {
			answer.Node = node
		}
	}
	return reply(answer, n.daemon.ResumeNode(r.Msg.GetNode()))
}

func (n nodes) RemoveNode(ctx context.Context, r *connect.Request[scorev1.RemoveNodeRequest]) (*connect.Response[scorev1.RemoveNodeResponse], error) {
	if n.daemon.RemoveNode == nil {
		return n.UnimplementedClusterServiceHandler.RemoveNode(ctx, r)
	}
	revoked, err := n.daemon.RemoveNode(r.Msg.GetNode())
	return reply(&scorev1.RemoveNodeResponse{Revoked: revoked}, err)
}

func (n nodes) ListUsers(ctx context.Context, r *connect.Request[scorev1.ListUsersRequest]) (*connect.Response[scorev1.ListUsersResponse], error) {
	if n.daemon.Users == nil {
		return n.UnimplementedClusterServiceHandler.ListUsers(ctx, r)
	}
	users, err := n.daemon.Users(r.Msg.GetUser())
	return reply(&scorev1.ListUsersResponse{Users: users}, err)
}

func (n nodes) SetUser(ctx context.Context, r *connect.Request[scorev1.SetUserRequest]) (*connect.Response[scorev1.SetUserResponse], error) {
	if n.daemon.SetUser == nil {
		return n.UnimplementedClusterServiceHandler.SetUser(ctx, r)
	}
	if err := n.daemon.SetUser(r.Msg); err != nil {
		return nil, err
	}
	set, err := n.daemon.Users(r.Msg.GetUser())
	if err != nil {
		return nil, err
	}
	return reply(&scorev1.SetUserResponse{User: set[0]}, nil)
}

func (n nodes) GetSettings(ctx context.Context, r *connect.Request[scorev1.GetSettingsRequest]) (*connect.Response[scorev1.GetSettingsResponse], error) {
	if n.daemon.Settings == nil {
		return n.UnimplementedClusterServiceHandler.GetSettings(ctx, r)
	}
	return reply(&scorev1.GetSettingsResponse{Settings: n.daemon.Settings()}, nil)
}

func (n nodes) SetSettings(ctx context.Context, r *connect.Request[scorev1.SetSettingsRequest]) (*connect.Response[scorev1.SetSettingsResponse], error) {
	if n.daemon.Set == nil {
		return n.UnimplementedClusterServiceHandler.SetSettings(ctx, r)
	}
	return reply(&scorev1.SetSettingsResponse{Settings: r.Msg.GetSettings()}, n.daemon.Set(r.Msg))
}

func (n nodes) SwitchMetrics(ctx context.Context, r *connect.Request[scorev1.SwitchMetricsRequest]) (*connect.Response[scorev1.SwitchMetricsResponse], error) {
	if n.daemon.Switches == nil {
		return n.UnimplementedClusterServiceHandler.SwitchMetrics(ctx, r)
	}
	return reply(n.daemon.Switches(r.Msg), nil)
}

func (n nodes) GetMatrix(ctx context.Context, r *connect.Request[scorev1.GetMatrixRequest]) (*connect.Response[scorev1.GetMatrixResponse], error) {
	if n.daemon.Matrix == nil {
		return n.UnimplementedClusterServiceHandler.GetMatrix(ctx, r)
	}
	return reply(n.daemon.Matrix(), nil)
}

func (n nodes) GetTop(ctx context.Context, r *connect.Request[scorev1.GetTopRequest]) (*connect.Response[scorev1.GetTopResponse], error) {
	if n.daemon.Top == nil {
		return n.UnimplementedClusterServiceHandler.GetTop(ctx, r)
	}
	return reply(n.daemon.Top())
}

func (n nodes) GetVersion(ctx context.Context, r *connect.Request[scorev1.GetVersionRequest]) (*connect.Response[scorev1.GetVersionResponse], error) {
	if n.daemon.Version == nil {
		return n.UnimplementedClusterServiceHandler.GetVersion(ctx, r)
	}
	return reply(n.daemon.Version(), nil)
}

func (n nodes) ListCertificates(
	ctx context.Context,
	r *connect.Request[scorev1.ListCertificatesRequest],
) (*connect.Response[scorev1.ListCertificatesResponse], error) {
	if n.daemon.Certificates == nil {
		return n.UnimplementedClusterServiceHandler.ListCertificates(ctx, r)
	}
	return reply(&scorev1.ListCertificatesResponse{Certificates: n.daemon.Certificates()}, nil)
}

func (n nodes) ListTokens(ctx context.Context, r *connect.Request[scorev1.ListTokensRequest]) (*connect.Response[scorev1.ListTokensResponse], error) {
	if n.daemon.Tokens == nil {
		return n.UnimplementedClusterServiceHandler.ListTokens(ctx, r)
	}
	return reply(&scorev1.ListTokensResponse{Tokens: n.daemon.Tokens()}, nil)
}

func (n nodes) RemoveToken(ctx context.Context, r *connect.Request[scorev1.RemoveTokenRequest]) (*connect.Response[scorev1.RemoveTokenResponse], error) {
	if n.daemon.RemoveToken == nil {
		return n.UnimplementedClusterServiceHandler.RemoveToken(ctx, r)
	}
	return reply(&scorev1.RemoveTokenResponse{}, n.daemon.RemoveToken(r.Msg.GetId()))
}
