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

const (
	// certificateEvery is how often the agent looks whether its certificate is to be renewed, for which a month is
	// left, or was renewed by somebody else.
	certificateEvery = time.Minute
	// renewRetry is the pause after servers could not renew it.
	renewRetry = time.Hour
	// renewTimeout bounds asking one server.
	renewTimeout = 30 * time.Second
)

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
	tick := time.NewTicker(certificateEvery)
	defer tick.Stop()
	var retry time.Time
	for {
		if err := credentials.Reload(a.options.CertificateDir); err != nil {
			a.log.Warn("the certificate on disk cannot be used", zap.Error(err))
		}
		if now := time.Now(); now.After(credentials.RenewAt()) && now.After(retry) {
			if err := a.renewCertificate(ctx); err != nil && ctx.Err() == nil {
				a.log.Error("the node's certificate could not be renewed", zap.Time("expires", credentials.Expires()), zap.Error(err))
				retry = now.Add(renewRetry)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// renewCertificate asks the servers, one after the other.
func (a *Agent) renewCertificate(ctx context.Context) error {
	request, err := pki.NewRequest()
	if err != nil {
		return err
	}
	var errs []error
	for _, server := range a.options.Servers {
		signed, err := a.askCertificate(ctx, server, request.Bytes())
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if err := a.options.Credentials.Renew(signed, request); err != nil {
			return err
		}
		a.log.Info("the node's certificate was renewed", zap.Time("expires", a.options.Credentials.Expires()))
		return a.options.Credentials.Save(a.options.CertificateDir)
	}
	return errors.Join(errs...)
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
