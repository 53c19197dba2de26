package nodeagent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"score/nodeagent/peers"
	"score/nodeagent/uplink"
	"score/scored/api/agentpb"
	"score/scored/api/agentpb/agentpbconnect"
	"score/scored/api/identity/join"
	"score/scored/api/identity/pki"
	"score/scored/api/transport/h2"
	"score/scored/api/transport/handshake"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/zap"
)

const (
	// renewTimeout bounds the request to one server.
	renewTimeout = 30 * time.Second
	// revokedTimeout bounds the question to one server whether the certificate was revoked: some
	// round trips.
	revokedTimeout = 3 * time.Second
)

// ErrRemoved is wrapped by the error of Run when a server has answered that this node no longer
// belongs to the cluster.
var ErrRemoved = uplink.ErrRemoved

// encryptedListener accepts only servers and agents that show a certificate.
func (a *Agent) encryptedListener(listener net.Listener) net.Listener {
	return handshake.Listen(listener, a.credentials.ServerSide(h2.Protocol, pki.Server, pki.Agent), a.log)
}

// renewCertificate renews the certificate in time, until ctx ends.
func (a *Agent) renewCertificate(ctx context.Context) {
	credentials := a.options.Credentials
	credentials.Keep(ctx, pki.Keeper{
		Dir: a.options.CertificateDir, Ask: a.requestCertificate,
		Unusable: func(err error) { a.log.Warn("the certificate on disk cannot be used", zap.Error(err)) },
		Failed: func(err error) {
			a.log.Error("the node's certificate could not be renewed", zap.Time("expires", credentials.Expires()), zap.Error(err))
		},
		Renewed: func() {
			a.log.Info("the node's certificate was renewed", zap.Time("expires", credentials.Expires()))
		},
	})
}

// requestCertificate asks one server after the other to sign a request.
func (a *Agent) requestCertificate(ctx context.Context, request []byte) ([]byte, error) {
	var errs []error
	for _, server := range a.link.Servers() {
		signed, err := a.requestCertificateFrom(ctx, server, request)
		if err == nil {
			return signed, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

func (a *Agent) requestCertificateFrom(ctx context.Context, server string, request []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	client := agentpbconnect.NewAgentServiceClient(a.servers, server, peers.ClientOptions()...)
	response, err := client.RenewCertificate(ctx, connect.NewRequest(&agentpb.RenewCertificateRequest{Request: request}))
	if err != nil {
		return nil, err
	}
	return response.Msg.GetCertificate(), nil
}

// revocationCheck returns a function that asks a server whether the certificate was revoked; nil
// without certificates. The answer is false if the server cannot be reached, shows no certificate
// of the cluster, or is of a version that does not answer.
func (a *Agent) revocationCheck() func(ctx context.Context, server string) bool {
	own := a.options.Credentials
	if own == nil {
		return nil
	}
	return func(ctx context.Context, server string) bool {
		at, err := url.Parse(server)
		if err != nil {
			return false
		}
		ctx, cancel := context.WithTimeout(ctx, revokedTimeout)
		defer cancel()
		revoked, err := join.Revoked(ctx, at.Host, own)
		return err == nil && revoked
	}
}

// explainRemoval takes the error with which the link has ended for good, and adds what to do.
func (a *Agent) explainRemoval(err error) error {
	if !errors.Is(err, ErrRemoved) {
		return err
	}
	return fmt.Errorf("%w; to make it a node again, remove its certificates (%s) and join it with a new token", err, a.options.CertificateDir)
}

// onRevoked refuses the revoked certificates from now on.
func (a *Agent) onRevoked(m *agentpb.Revoked) {
	if a.options.Credentials != nil {
		a.options.Credentials.Revoke(m.GetSerials())
	}
}
