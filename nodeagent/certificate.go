package nodeagent

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/zap"

	"score/scored/api/pki"
	"score/scored/api/scorev1"
	"score/scored/api/scorev1/scorev1connect"
)

// renewTimeout bounds asking one server.
const renewTimeout = 30 * time.Second

// encrypted lets only servers and agents in that show a certificate, where there are certificates.
func (a *Agent) encrypted(listener net.Listener) net.Listener {
	credentials := a.options.Credentials
	if credentials == nil {
		return listener
	}
	config := credentials.Server(pki.Server, pki.Agent)
	config.NextProtos = []string{"h2"}
	return tls.NewListener(listener, config)
}

// keepCertificate renews it until ctx ends.
func (a *Agent) keepCertificate(ctx context.Context) {
	credentials := a.options.Credentials
	credentials.Keep(ctx, pki.Keeper{
		Dir: a.options.CertificateDir, Ask: a.askCertificates,
		Unusable: func(err error) { a.log.Warn("the certificate on disk cannot be used", zap.Error(err)) },
		Failed: func(err error) {
			a.log.Error("the node's certificate could not be renewed", zap.Time("expires", credentials.Expires()), zap.Error(err))
		},
		Renewed: func() {
			a.log.Info("the node's certificate was renewed", zap.Time("expires", credentials.Expires()))
		},
	})
}

// askCertificates asks the servers, one after the other.
func (a *Agent) askCertificates(ctx context.Context, request []byte) ([]byte, error) {
	var errs []error
	for _, server := range a.link.Servers() {
		signed, err := a.askCertificate(ctx, server, request)
		if err == nil {
			return signed, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

func (a *Agent) askCertificate(ctx context.Context, server string, request []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	client := scorev1connect.NewAgentServiceClient(a.options.Client, server, a.key.clientOptions()...)
	response, err := client.RenewCertificate(ctx, connect.NewRequest(&scorev1.RenewCertificateRequest{Request: request}))
	if err != nil {
		return nil, err
	}
	return response.Msg.GetCertificate(), nil
}

// takeRevoked has the node's doors refuse certificates.
func (a *Agent) takeRevoked(m *scorev1.Revoked) {
	if a.options.Credentials != nil {
		a.options.Credentials.Revoked.Replace(m.GetSerials())
	}
}
