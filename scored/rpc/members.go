package rpc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"score/scored/admission"
	"score/scored/api/agentpb"
	"score/scored/api/identity/pki"
	"score/scored/api/scorev1"
	"score/scored/leader"
	"score/scored/replica"
	"slices"
	"time"

	"connectrpc.com/connect"
)

// CreateToken implements ClusterServiceHandler.
func (u users) CreateToken(ctx context.Context, r *connect.Request[scorev1.CreateTokenRequest]) (*connect.Response[scorev1.CreateTokenResponse], error) {
	identity, err := identityOf(ctx)
	if err != nil {
		return nil, err
	}
	text, about, err := u.Registrar.CreateToken(ctx, r.Msg.GetRole(), time.Duration(r.Msg.GetLifeNanos()), identity.GetUser())
	if errors.Is(err, pki.ErrToken) {
		return nil, connect.NewError(connect.CodeInvalidArgument, err)
	}
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&scorev1.CreateTokenResponse{Token: text, About: about}), nil
}

// ListTokens implements ClusterServiceHandler.
func (u users) ListTokens(ctx context.Context, _ *connect.Request[scorev1.ListTokensRequest]) (*connect.Response[scorev1.ListTokensResponse], error) {
	tokens, err := u.Leader.Tokens(ctx)
	return respond(&scorev1.ListTokensResponse{Tokens: tokens}, err)
}

// RemoveToken implements ClusterServiceHandler.
func (u users) RemoveToken(ctx context.Context, r *connect.Request[scorev1.RemoveTokenRequest]) (*connect.Response[scorev1.RemoveTokenResponse], error) {
	return respond(&scorev1.RemoveTokenResponse{}, u.Leader.RemoveToken(ctx, r.Msg.GetId()))
}

// ListCertificates implements ClusterServiceHandler.
func (u users) ListCertificates(
	ctx context.Context,
	_ *connect.Request[scorev1.ListCertificatesRequest],
) (*connect.Response[scorev1.ListCertificatesResponse], error) {
	certificates, err := u.Leader.Certificates(ctx)
	return respond(&scorev1.ListCertificatesResponse{Certificates: certificates}, err)
}

// RevokeCertificates implements ClusterServiceHandler.
func (u users) RevokeCertificates(
	ctx context.Context,
	r *connect.Request[scorev1.RevokeCertificatesRequest],
) (*connect.Response[scorev1.RevokeCertificatesResponse], error) {
	if err := u.mayRevoke(r.Msg.GetRole(), r.Msg.GetName()); err != nil {
		return nil, err
	}
	count, err := u.Leader.RevokeCertificates(ctx, r.Msg.GetRole(), r.Msg.GetName())
	return respond(&scorev1.RevokeCertificatesResponse{Revoked: uint32(count)}, err)
}

// mayRevoke refuses to revoke a server that counts for the majority: the others would wait for it,
// perhaps forever.
func (u users) mayRevoke(role, name string) error {
	parsed, err := pki.ParseRole(clip(role))
	if err != nil {
		return invalid("%v", err)
	}
	if parsed != pki.Server || u.Servers == nil {
		return nil
	}
	servers, err := u.Servers.Servers()
	if err != nil {
		return err
	}
	if slices.ContainsFunc(servers, func(s replica.Server) bool { return s.Name == name }) {
		return fmt.Errorf(
			"%w: server %s is a member of the cluster; 'scored server remove %s' removes it and revokes its certificates",
			leader.ErrState,
			name,
			name,
		)
	}
	return nil
}

// RenewCertificate implements AgentServiceHandler.
func (a agents) RenewCertificate(
	ctx context.Context,
	r *connect.Request[agentpb.RenewCertificateRequest],
) (*connect.Response[agentpb.RenewCertificateResponse], error) {
	name, err := daemonOf(ctx)
	if err != nil {
		return nil, connect.NewError(connect.CodeUnauthenticated, err)
	}
	signed, err := a.Registrar.Renew(ctx, name, r.Msg.GetRequest())
	if errors.Is(err, pki.ErrRequest) {
		return nil, connect.NewError(connect.CodeInvalidArgument, err)
	}
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&agentpb.RenewCertificateResponse{Certificate: signed}), nil
}

type (
	daemonKey struct{}
	serialKey struct{}
)

// withDaemon puts the peer of a TLS connection into the context of its requests.
func withDaemon(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS != nil {
			if name, err := pki.PeerOf(r.TLS); err == nil {
				ctx := context.WithValue(r.Context(), daemonKey{}, name)
				r = r.WithContext(context.WithValue(ctx, serialKey{}, r.TLS.PeerCertificates[0].SerialNumber.Bytes()))
			}
		}
		next.ServeHTTP(w, r)
	})
}

// daemonOf returns the calling daemon, by its certificate.
func daemonOf(ctx context.Context) (pki.Name, error) {
	name, ok := ctx.Value(daemonKey{}).(pki.Name)
	if !ok {
		return pki.Name{}, admission.ErrNoAuthority
	}
	return name, nil
}

// serialOf returns the serial number of the peer's certificate; nil: it has shown none.
func serialOf(ctx context.Context) []byte {
	serial, _ := ctx.Value(serialKey{}).([]byte)
	return serial
}

// checkNode refuses an agent that claims another node's name.
func checkNode(ctx context.Context, node string) error {
	name, err := daemonOf(ctx)
	if err != nil {
		return connect.NewError(connect.CodeUnauthenticated, err)
	}
	if name.Role != pki.Agent || name.Name != node {
		return connect.NewError(
			connect.CodePermissionDenied,
			fmt.Errorf("this is the certificate of %s, and the agent calls itself %s; set agent.name, or join again", name, node),
		)
	}
	return nil
}
