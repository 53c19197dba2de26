package join

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"score/scored/api/agentpb"
	"score/scored/api/identity/pki"
	"time"
)

// ErrRefused is wrapped by a server's refusal; its text says why.
var ErrRefused = errors.New("the cluster does not take this daemon")

// Member is what a newcomer gets.
type Member struct {
	Credentials *pki.Credentials
	ClusterKey  string
	// Authority signs certificates; nil unless a server has joined.
	Authority *pki.Authority
	Server    string // that has answered, host:port
	Address   string // of this host, on the connection to the server
}

// Join asks the servers in the token, one after the other, until one answers. now is this host's
// clock.
func Join(ctx context.Context, token *pki.Token, name string, now func() time.Time) (*Member, error) {
	if err := token.CheckTime(now()); err != nil {
		return nil, err
	}
	request, err := pki.NewRequest()
	if err != nil {
		return nil, err
	}
	n := newcomer{token: token, name: name, request: request, now: now}
	var errs []error
	for _, server := range token.Servers {
		member, err := n.ask(ctx, server)
		if err == nil || errors.Is(err, ErrRefused) {
			return member, err
		}
		errs = append(errs, fmt.Errorf("%s: %w", server, err))
	}
	return nil, fmt.Errorf("no server of the cluster could be asked: %w", errors.Join(errs...))
}

// newcomer is a daemon that is to join.
type newcomer struct {
	token   *pki.Token
	name    string
	request *pki.Request
	now     func() time.Time
}

// ask asks a server for membership.
func (n *newcomer) ask(ctx context.Context, server string) (*Member, error) {
	answer, own, err := exchange(ctx, server, pki.Joining(n.token, n.now), &agentpb.JoinRequest{
		TokenId: n.token.ID, Secret: n.token.Secret, Name: n.name, Role: string(n.token.Role), Request: n.request.Bytes(),
	})
	if err != nil {
		return nil, err
	}
	member, err := n.memberOf(answer)
	if err != nil {
		return nil, err
	}
	member.Server = server
	member.Address, _, err = net.SplitHostPort(own.String())
	return member, err
}

// exchange sends a server one request and returns the answer and this host's own address on that
// connection.
func exchange(ctx context.Context, server string, config *tls.Config, question *agentpb.JoinRequest) (*agentpb.JoinResponse, net.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	config.NextProtos = []string{Protocol}
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", server)
	if err != nil {
		return nil, nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })() // wakes what waits
	if err := Write(conn, question); err != nil {
		return nil, nil, err
	}
	answer := new(agentpb.JoinResponse)
	if err := Read(conn, answer); err != nil {
		return nil, nil, err
	}
	if answer.GetRefused() != "" {
		return nil, nil, fmt.Errorf("%w: %s", ErrRefused, answer.GetRefused())
	}
	return answer, conn.LocalAddr(), nil
}

// Revoked asks a server, host:port, whether the daemon's own certificate was revoked. Servers
// answer even without a valid certificate, since a refused handshake gives no reason.
func Revoked(ctx context.Context, server string, own *pki.Credentials) (bool, error) {
	answer, _, err := exchange(ctx, server, own.Client(pki.Server), &agentpb.JoinRequest{Serial: own.Serial()})
	return answer.GetRevoked(), err
}

// memberOf checks an answer and returns what it gives the newcomer.
func (n *newcomer) memberOf(answer *agentpb.JoinResponse) (*Member, error) {
	authority, err := x509.ParseCertificate(answer.GetAuthority())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	if pki.DigestOf(authority) != n.token.Authority {
		return nil, fmt.Errorf("%w: the authority is not the one that the token names", ErrMessage)
	}
	credentials, err := pki.NewCredentials(authority, answer.GetCertificate(), n.request, n.now)
	if err != nil {
		return nil, err
	}
	if err := credentials.Check(); err != nil {
		return nil, err
	}
	member := &Member{Credentials: credentials, ClusterKey: answer.GetClusterKey()}
	if n.token.Role == pki.Server {
		member.Authority, err = pki.NewServersAuthority(authority, answer.GetAuthorityKey())
	}
	return member, err
}
