package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"time"
)

const (
	// keyAuthorityLabel keeps the authority apart from all else that is derived from a cluster's
	// key.
	keyAuthorityLabel = "score authority of a cluster's key, 1"
	// scalarTries bounds how often a private key is drawn: one in 2^32 numbers of 256 bits is no
	// key of P-256.
	scalarTries = 8
)

// Certificates that are derived from a key do not expire (RFC 5280, section 4.1.2.5): the holder of
// the key can make new ones at any time, and setting a clock must not stop a cluster on one host.
var (
	keyBegin = time.Unix(0, 0).UTC()
	keyEnd   = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
)

// FromKey makes the credentials of a daemon in a cluster without certificates. All daemons derive
// the same authority from the cluster's key, and each signs its own certificate. So a connection
// proves at both ends that the other knows the key, and shows it to nobody. A key needs at least 80
// bits of entropy: certificates allow offline guesses.
func FromKey(key string, name Name) (*Credentials, error) {
	if err := name.check(); err != nil {
		return nil, err
	}
	authority, err := keyAuthority(key, name.Cluster)
	if err != nil {
		return nil, err
	}
	request, err := NewRequest()
	if err != nil {
		return nil, err
	}
	template, err := daemonTemplate(name, keyBegin, keyEnd)
	if err != nil {
		return nil, err
	}
	signed, err := sign(template, authority.cert, &request.key.PublicKey, authority.key)
	if err != nil {
		return nil, err
	}
	return NewCredentials(authority.cert, signed.Raw, request, time.Now)
}

func keyAuthority(key, cluster string) (*Authority, error) {
	private, err := keyScalar(key, cluster)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), // the authority is the same each time
		Subject:      pkix.Name{CommonName: authorityName(cluster)},
		NotBefore:    keyBegin, NotAfter: keyEnd,
	}
	return signAuthority(template, private)
}

// keyScalar derives the authority's private key.
func keyScalar(key, cluster string) (*ecdsa.PrivateKey, error) {
	for try := range scalarTries {
		info := fmt.Sprintf("%s, %d", keyAuthorityLabel, try)
		scalar, err := hkdf.Key(sha256.New, []byte(key), []byte(cluster), info, (elliptic.P256().Params().BitSize+7)/8)
		if err != nil {
			return nil, fmt.Errorf("cannot derive the authority from the cluster's key: %w", err)
		}
		if private, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar); err == nil {
			return private, nil
		}
	}
	return nil, fmt.Errorf("the cluster's key gives no authority; choose another one") //nolint:err113 // it takes 2^256 keys to see it
}
