package state

import (
	"cmp"
	"fmt"
	"maps"
	"score/scored/state/statepb"
	"slices"
)

const (
	// MaxTokens bounds the valid join tokens: nobody needs more than there are nodes.
	MaxTokens = MaxNodes
	// MaxCertificates bounds the certificates that are remembered, without expired ones: a few for
	// each daemon.
	MaxCertificates = 4 * MaxNodes
	// maxSerial and maxVerifier are lengths in bytes (RFC 5280, section 4.1.2.2; SHA-256).
	maxSerial   = 20
	maxVerifier = 32
)

// Token lets one daemon join.
type Token struct {
	ID, Role string
	Verifier []byte // hash of its secret
	Expires  int64  // cluster nanoseconds
	MadeBy   string // user
}

// Certificate is a certificate that a daemon was given.
type Certificate struct {
	Serial     []byte
	Role, Name string
	Expires    int64 // cluster nanoseconds
	Revoked    bool
}

// Tokens returns all tokens by id.
func (s *State) Tokens() []*Token {
	return slices.SortedFunc(maps.Values(s.tokens), func(a, b *Token) int { return cmp.Compare(a.ID, b.ID) })
}

// Certificates returns all certificates by serial number.
func (s *State) Certificates() []*Certificate {
	return slices.SortedFunc(maps.Values(s.certificates), func(a, b *Certificate) int { return slices.Compare(a.Serial, b.Serial) })
}

func (s *State) addToken(c *statepb.AddToken, now int64) error {
	t := tokenFromProto(c.GetToken())
	switch {
	case t.ID == "" || t.Role == "" || len(t.Verifier) == 0 || len(t.Verifier) > maxVerifier || t.Expires <= now:
		return fmt.Errorf("%w: a token needs an id, a role, a verifier and time", ErrCommand)
	case s.tokens[t.ID] != nil:
		return fmt.Errorf("%w: token %q exists already", ErrCommand, t.ID)
	}
	for _, old := range s.Tokens() {
		if old.Expires <= now {
			put(s, s.tokens, old.ID, nil)
		}
	}
	if len(s.tokens) >= MaxTokens {
		return fmt.Errorf("%w: %d tokens", ErrTooMany, MaxTokens)
	}
	put(s, s.tokens, t.ID, t)
	return nil
}

func (s *State) removeToken(c *statepb.RemoveToken) error {
	if s.tokens[c.GetId()] == nil {
		return fmt.Errorf("%w: %q", ErrUnknownToken, c.GetId())
	}
	put(s, s.tokens, c.GetId(), nil)
	return nil
}

func (s *State) admit(c *statepb.Admit, now int64) error {
	token, cert := s.tokens[c.GetTokenId()], certificateFromProto(c.GetCertificate())
	switch {
	case token == nil:
		return fmt.Errorf("%w: %q", ErrUnknownToken, c.GetTokenId())
	case token.Expires <= now:
		return fmt.Errorf("%w: %q expired", ErrUnknownToken, token.ID)
	case token.Role != cert.Role:
		return fmt.Errorf("%w: a token for %s, a certificate for %s", ErrCommand, token.Role, cert.Role)
	}
	s.revoke(cert.Role, cert.Name)
	if err := s.addCertificate(cert, now); err != nil {
		return err
	}
	put(s, s.tokens, token.ID, nil)
	return nil
}

// certificateMargin is how long a certificate is remembered after it has expired by the cluster's
// clock. A daemon's own clock may be behind, and a revoked certificate must not become valid there.
const certificateMargin = 24 * 3600 * 1_000_000_000

// Forgotten reports whether the certificate expired so long ago that no daemon's clock takes it for
// valid.
func (c *Certificate) Forgotten(now int64) bool { return c.Expires+certificateMargin <= now }

func (s *State) renewCertificate(c *statepb.RenewCertificate, now int64) error {
	return s.addCertificate(certificateFromProto(c.GetCertificate()), now)
}

func (s *State) addCertificate(cert *Certificate, now int64) error {
	key := string(cert.Serial)
	switch {
	case key == "" || len(key) > maxSerial || cert.Role == "" || cert.Name == "" || cert.Expires <= now:
		return fmt.Errorf("%w: a certificate needs a serial number, a role, a name and time", ErrCommand)
	case s.certificates[key] != nil:
		return fmt.Errorf("%w: certificate %x exists already", ErrCommand, cert.Serial)
	}
	for _, old := range s.Certificates() {
		if old.Forgotten(now) {
			put(s, s.certificates, string(old.Serial), nil)
		}
	}
	if len(s.certificates) >= MaxCertificates {
		return fmt.Errorf("%w: %d certificates", ErrTooMany, MaxCertificates)
	}
	put(s, s.certificates, key, cert)
	return nil
}

func (s *State) revokeCertificates(c *statepb.RevokeCertificates) error {
	if s.revoke(c.GetRole(), c.GetName()) == 0 {
		return fmt.Errorf("%w: of %s %q", ErrUnknownCertificate, c.GetRole(), c.GetName())
	}
	return nil
}

// revoke revokes a daemon's certificates and returns their number.
func (s *State) revoke(role, name string) (count int) {
	for _, cert := range s.Certificates() {
		if cert.Role != role || cert.Name != name || cert.Revoked {
			continue
		}
		next := *cert
		next.Revoked = true
		put(s, s.certificates, string(cert.Serial), &next)
		count++
	}
	return count
}

// Certificate returns the certificate with this serial number, or nil.
func (s *State) Certificate(serial []byte) *Certificate { return s.certificates[string(serial)] }

// Revoked returns the serial numbers of all revoked certificates, unordered.
func (s *State) Revoked() (serials [][]byte) {
	for _, cert := range s.certificates { // any order: nothing that is applied depends on it
		if cert.Revoked {
			serials = append(serials, cert.Serial)
		}
	}
	return serials
}

func tokenFromProto(t *statepb.Token) *Token {
	return &Token{ID: t.GetId(), Role: t.GetRole(), Verifier: t.GetVerifier(), Expires: t.GetExpiresNanos(), MadeBy: t.GetMadeBy()}
}

func (t *Token) proto() *statepb.Token {
	return &statepb.Token{Id: t.ID, Role: t.Role, Verifier: t.Verifier, ExpiresNanos: t.Expires, MadeBy: t.MadeBy}
}

func certificateFromProto(c *statepb.Certificate) *Certificate {
	return &Certificate{Serial: c.GetSerial(), Role: c.GetRole(), Name: c.GetName(), Expires: c.GetExpiresNanos(), Revoked: c.GetRevoked()}
}

func (c *Certificate) proto() *statepb.Certificate {
	return &statepb.Certificate{Serial: c.Serial, Role: c.Role, Name: c.Name, ExpiresNanos: c.Expires, Revoked: c.Revoked}
}

// restoreMembers restores tokens and certificates from a snapshot.
func (s *State) restoreMembers(image *statepb.Snapshot) error {
	for _, record := range image.GetTokens() {
		if record.GetId() == "" || s.tokens[record.GetId()] != nil {
			return fmt.Errorf("token %q", record.GetId())
		}
		s.tokens[record.GetId()] = tokenFromProto(record)
	}
	for _, record := range image.GetCertificates() {
		key := string(record.GetSerial())
		if key == "" || s.certificates[key] != nil {
			return fmt.Errorf("certificate %x", record.GetSerial())
		}
		s.certificates[key] = certificateFromProto(record)
	}
	return nil
}
