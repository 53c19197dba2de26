package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"time"
)

const (
	// authorityLife is the life of an authority, that of a cluster: nobody wants to carry a new
	// authority to all nodes.
	authorityLife = 20 * 365 * 24 * time.Hour
	// DefaultLife is the life of a daemon's certificate: daemons renew it themselves, and a stolen
	// one expires.
	DefaultLife = 90 * 24 * time.Hour
	// MaxLife bounds what an administrator may ask for.
	MaxLife = 5 * 365 * 24 * time.Hour
	// skew is how far a certificate is backdated, for hosts whose clocks are behind.
	skew = 5 * time.Minute
	// serialBits make serial numbers unique without a counter (RFC 5280, section 4.1.2.2: up to 20
	// bytes).
	serialBits = 127
)

// ErrRequest is wrapped by refusals of a request for a certificate.
var ErrRequest = errors.New("request for a certificate")

// Authority signs the certificates of a cluster.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority makes the authority of a new cluster.
func NewAuthority(cluster string, now time.Time) (*Authority, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	template, err := newTemplate(authorityName(cluster), now.Add(-skew), now.Add(authorityLife))
	if err != nil {
		return nil, err
	}
	return signAuthority(template, key)
}

func authorityName(cluster string) string { return "authority of cluster " + cluster }

// signAuthority makes the authority that has the key.
func signAuthority(template *x509.Certificate, key *ecdsa.PrivateKey) (*Authority, error) {
	template.IsCA, template.BasicConstraintsValid, template.MaxPathLenZero = true, true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	cert, err := sign(template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	return &Authority{cert: cert, key: key}, nil
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("cannot make a key: %w", err)
	}
	return key, nil
}

func newTemplate(name string, begin, end time.Time) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), serialBits))
	if err != nil {
		return nil, fmt.Errorf("cannot draw a serial number: %w", err)
	}
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    begin,
		NotAfter:     end,
	}, nil
}

// sign makes a certificate and reads it back.
func sign(template, parent *x509.Certificate, public any, key *ecdsa.PrivateKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		return nil, fmt.Errorf("cannot sign a certificate: %w", err)
	}
	return x509.ParseCertificate(der)
}

// Certificate returns the authority's own certificate, which every daemon has.
func (a *Authority) Certificate() *x509.Certificate { return a.cert }

// Key returns the authority's own key, which servers have (PKCS #8).
func (a *Authority) Key() ([]byte, error) { return x509.MarshalPKCS8PrivateKey(a.key) }

// NewServersAuthority makes the authority from the certificate and the key that a server was given.
func NewServersAuthority(cert *x509.Certificate, key []byte) (*Authority, error) {
	a, err := authorityOf(cert, key)
	if err != nil {
		return nil, fmt.Errorf("%w: what the server sent: %w", ErrFiles, err)
	}
	return a, nil
}

// Digest identifies an authority in a token.
type Digest [sha256.Size]byte

// DigestOf returns the SHA-256 of the certificate.
func DigestOf(c *x509.Certificate) Digest { return sha256.Sum256(c.Raw) }

// Sign makes a certificate for the name, valid for life, with the public key of the request. Only
// the key of the request counts: the caller knows whom it is for.
func (a *Authority) Sign(request []byte, name Name, now time.Time, life time.Duration) (*x509.Certificate, error) {
	if err := name.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	if life <= 0 || life > MaxLife {
		return nil, fmt.Errorf("%w: a life of %v is not between 0 and %v", ErrRequest, life, MaxLife)
	}
	public, err := requestKey(request)
	if err != nil {
		return nil, err
	}
	template, err := daemonTemplate(name, now.Add(-skew), now.Add(life))
	if err != nil {
		return nil, err
	}
	return sign(template, a.cert, public, a.key)
}

// daemonTemplate returns the certificate of a daemon, except for its key.
func daemonTemplate(name Name, begin, end time.Time) (*x509.Certificate, error) {
	template, err := newTemplate(name.Name, begin, end)
	if err != nil {
		return nil, err
	}
	template.URIs = []*url.URL{name.uri()}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	return template, nil
}
