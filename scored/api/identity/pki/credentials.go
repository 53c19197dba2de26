package pki

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// renewAfterNumerator / renewAfterDenominator is the part of a certificate's life after which the
// daemon asks for a new one. A third of the life, a month by default, remains in case the cluster
// is down.
const renewAfterNumerator, renewAfterDenominator = 2, 3

// ErrOwn is wrapped by errors of the daemon's own certificate or key.
var ErrOwn = errors.New("this daemon's own certificate cannot be used")

// Credentials are a daemon's certificate and key, and the authority by which it recognises others.
// They may be used and renewed concurrently.
type Credentials struct {
	name      Name
	authority *x509.Certificate
	now       func() time.Time
	current   atomic.Pointer[tls.Certificate]
	revoked   revoked
	conns     conns
	expected  expected
}

// NewCredentials joins a signed certificate with the key of its request.
func NewCredentials(authority *x509.Certificate, signed []byte, request *Request, now func() time.Time) (*Credentials, error) {
	leaf, err := x509.ParseCertificate(signed)
	if err != nil {
		return nil, fmt.Errorf("%w: it cannot be read: %w", ErrOwn, err)
	}
	return newCredentials(authority, &tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: request.key, Leaf: leaf}, now)
}

func newCredentials(authority *x509.Certificate, own *tls.Certificate, now func() time.Time) (*Credentials, error) {
	name, err := nameOf(own.Leaf)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOwn, err)
	}
	if !authority.IsCA {
		return nil, fmt.Errorf("%w: the authority's certificate is none of an authority", ErrOwn)
	}
	c := &Credentials{name: name, authority: authority, now: now}
	c.current.Store(own)
	return c, nil
}

// Name returns this daemon's name.
func (c *Credentials) Name() Name { return c.name }

// Authority returns the certificate of the cluster's authority.
func (c *Credentials) Authority() *x509.Certificate { return c.authority }

// Serial returns the number of the present certificate, by which it is revoked.
func (c *Credentials) Serial() []byte { return c.current.Load().Leaf.SerialNumber.Bytes() }

// Expires returns when the present certificate ends.
func (c *Credentials) Expires() time.Time { return c.current.Load().Leaf.NotAfter }

// renewAt returns when to ask for the next certificate.
func (c *Credentials) renewAt() time.Time {
	leaf := c.current.Load().Leaf
	life := leaf.NotAfter.Sub(leaf.NotBefore)
	return leaf.NotBefore.Add(life / renewAfterDenominator * renewAfterNumerator)
}

// Check reports whether the others will accept the present certificate.
func (c *Credentials) Check() error {
	own := []*x509.Certificate{c.current.Load().Leaf}
	if err := c.trust(c.name.Role).verify(own); err != nil {
		return fmt.Errorf("%w: %w", ErrOwn, err)
	}
	return nil
}

// Renew takes a new certificate of the same name into use; connections that are open go on.
func (c *Credentials) Renew(signed []byte, request *Request) error {
	next, err := NewCredentials(c.authority, signed, request, c.now)
	if err != nil {
		return err
	}
	return c.replace(next)
}

func (c *Credentials) replace(next *Credentials) error {
	if next.name != c.name {
		return fmt.Errorf("%w: the new one is that of %s", ErrOwn, next.name)
	}
	if err := next.Check(); err != nil {
		return err
	}
	c.current.Store(next.current.Load())
	return nil
}

// Server returns the configuration of a listener that accepts daemons of these roles.
func (c *Credentials) Server(roles ...Role) *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS13,
		ClientAuth:     tls.RequestClientCert, // required and verified below, where the error can have a reason
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
		// A session that resumes without a certificate would outlive a revocation.
		SessionTicketsDisabled: true,
		VerifyConnection:       c.verifier(roles),
	}
}

// Client returns the configuration for dialing daemons of these roles. Names of hosts prove nothing
// here, and are ignored: the certificate identifies the daemon.
func (c *Credentials) Client(roles ...Role) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // verified below, by cluster, role and name
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			if err := c.Check(); err != nil {
				return nil, err
			}
			return c.current.Load(), nil
		},
		VerifyConnection: c.verifier(roles),
	}
}

// trust accepts daemons of these roles.
func (c *Credentials) trust(roles ...Role) trust {
	return trust{authority: c.authority, cluster: c.name.Cluster, roles: slices.Clone(roles), revoked: &c.revoked, now: c.now}
}

func (c *Credentials) verifier(roles []Role) func(tls.ConnectionState) error {
	accepted := c.trust(roles...)
	return func(state tls.ConnectionState) error { return accepted.verify(state.PeerCertificates) }
}

// PeerOf returns the daemon at the other end of a connection that Server or Client made.
func PeerOf(state *tls.ConnectionState) (Name, error) {
	if state == nil || len(state.PeerCertificates) == 0 {
		return Name{}, refuse(FaultMissing, Name{}, "the connection has no certificate")
	}
	return nameOf(state.PeerCertificates[0])
}

// IsRevoked reports whether the certificate with a serial number, as big-endian bytes, was revoked.
func (c *Credentials) IsRevoked(serial []byte) bool { return c.revoked.has(decimal(serial)) }

// Joining returns the configuration of a newcomer, which has a token and no certificate: the server
// must show the authority that the token names, and a server's certificate that it signed.
func Joining(t *Token, now func() time.Time) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // verified below, by the digest in the token
		VerifyConnection: func(state tls.ConnectionState) error {
			authority := slices.IndexFunc(state.PeerCertificates, func(c *x509.Certificate) bool { return DigestOf(c) == t.Authority })
			if authority < 1 {
				return refuse(FaultForeign, Name{}, "the server is not of the cluster that made the token; is the address right?")
			}
			accepted := trust{authority: state.PeerCertificates[authority], cluster: t.Cluster, roles: []Role{Server}, revoked: new(revoked), now: now}
			return accepted.verify(state.PeerCertificates[:1])
		},
	}
}

// NewcomerConfig returns the configuration of a listener for newcomers, which have no certificate.
// It shows them the authority.
func (c *Credentials) NewcomerConfig() *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		SessionTicketsDisabled: true,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			own := *c.current.Load()
			own.Certificate = [][]byte{own.Certificate[0], c.authority.Raw}
			return &own, nil
		},
	}
}
