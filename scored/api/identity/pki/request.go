package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"fmt"
)

// MaxRequest bounds a request in bytes; ours have some 200.
const MaxRequest = 4096

// Request is a key with a request for its certificate.
type Request struct {
	key *ecdsa.PrivateKey
	der []byte
}

// NewRequest makes a key and the request for its certificate (PKCS #10).
func NewRequest() (*Request, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, new(x509.CertificateRequest), key)
	if err != nil {
		return nil, fmt.Errorf("cannot make a request for a certificate: %w", err)
	}
	return &Request{key: key, der: der}, nil
}

// Bytes returns what is sent to a server.
func (r *Request) Bytes() []byte { return r.der }

// requestKey checks that the requester has the private key, and that the key is of the one kind
// that we use.
func requestKey(der []byte) (*ecdsa.PublicKey, error) {
	if len(der) > MaxRequest {
		return nil, fmt.Errorf("%w: it has %d bytes, more than %d", ErrRequest, len(der), MaxRequest)
	}
	request, err := x509.ParseCertificateRequest(der)
	if err != nil {
		return nil, fmt.Errorf("%w: it cannot be read: %w", ErrRequest, err)
	}
	if err := request.CheckSignature(); err != nil {
		return nil, fmt.Errorf("%w: the asker does not have the key: %w", ErrRequest, err)
	}
	public, ok := request.PublicKey.(*ecdsa.PublicKey)
	if !ok || public.Curve != elliptic.P256() {
		return nil, fmt.Errorf("%w: the key is not ECDSA P-256", ErrRequest)
	}
	return public, nil
}
