package pki

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

const (
	// tokenPrefix tells a token, and its format, from other text.
	tokenPrefix = "score1-"
	// MaxToken bounds a token's text in bytes: with as many addresses as there may be servers.
	MaxToken = 2048
	// maxServers bounds the addresses in a token; clusters have up to nine servers.
	maxServers = 16
	// MaxTokenLife bounds how long a token can be used: it is a password that people leave lying
	// about.
	MaxTokenLife = 7 * 24 * time.Hour
	// DefaultTokenLife is enough to walk to the other host.
	DefaultTokenLife = time.Hour
	// secretBytes is too much to guess.
	secretBytes = 16
	idBytes     = 6
)

// ErrToken is wrapped by errors of a token. Its text never contains the secret.
var ErrToken = errors.New("join token")

// Token lets one daemon join a cluster, once.
type Token struct {
	ID        string    // for servers and logs; not secret
	Secret    []byte    // servers keep only its digest
	Cluster   string    // to join
	Role      Role      // of the newcomer
	Expires   time.Time // in whole seconds
	Authority Digest
	Servers   []string // their addresses, host:port
}

// wireToken is a token's text, behind prefix and base64.
type wireToken struct {
	ID        string   `json:"i"`
	Secret    []byte   `json:"s"`
	Cluster   string   `json:"c"`
	Role      Role     `json:"r"`
	Expires   int64    `json:"e"` // seconds since 1970
	Authority []byte   `json:"a"`
	Servers   []string `json:"n"`
}

// NewToken returns a token that lives for some time, with an id and a secret that are drawn.
func NewToken(t Token, now time.Time, life time.Duration) (*Token, error) {
	if life <= 0 || life > MaxTokenLife {
		return nil, fmt.Errorf("%w: a life of %v is not between 0 and %v", ErrToken, life, MaxTokenLife)
	}
	random := make([]byte, idBytes+secretBytes)
	if _, err := rand.Read(random); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrToken, err)
	}
	t.ID, t.Secret, t.Expires = fmt.Sprintf("%x", random[:idBytes]), random[idBytes:], now.Add(life).Truncate(time.Second)
	return &t, t.check()
}

// String returns a form that is safe to log. Text has the secret.
func (t *Token) String() string { return fmt.Sprintf("token %s (%s)", t.ID, t.Role) }

// GoString keeps the secret out of %#v.
func (t *Token) GoString() string { return t.String() }

// Text returns the token as the administrator copies it to the other host.
func (t *Token) Text() (string, error) {
	text, err := json.Marshal(wireToken{t.ID, t.Secret, t.Cluster, t.Role, t.Expires.Unix(), t.Authority[:], t.Servers})
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrToken, err)
	}
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(text), nil
}

// ParseToken reads a token's text.
func ParseToken(text string) (*Token, error) {
	text = strings.TrimSpace(text)
	body, ok := strings.CutPrefix(text, tokenPrefix)
	if !ok || len(text) > MaxToken {
		return nil, fmt.Errorf("%w: this is none; it begins with %s and comes from 'scored token create'", ErrToken, tokenPrefix)
	}
	decoded, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil {
		return nil, errDamaged
	}
	var w wireToken
	strict := json.NewDecoder(bytes.NewReader(decoded))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&w); err != nil || strict.More() || len(w.Authority) != len(Digest{}) {
		return nil, errDamaged
	}
	t := &Token{
		ID:        w.ID,
		Secret:    w.Secret,
		Cluster:   w.Cluster,
		Role:      w.Role,
		Expires:   time.Unix(w.Expires, 0).UTC(),
		Authority: Digest(w.Authority),
		Servers:   w.Servers,
	}
	return t, t.check()
}

var errDamaged = fmt.Errorf("%w: it is damaged; copy all of it, or make a new one with 'scored token create'", ErrToken)

func (t *Token) check() error {
	name := Name{t.Cluster, t.Role, t.ID}
	if err := name.check(); err != nil {
		return fmt.Errorf("%w: %w", ErrToken, err)
	}
	if len(t.Secret) != secretBytes || len(t.Servers) == 0 || len(t.Servers) > maxServers {
		return errDamaged
	}
	for _, s := range t.Servers {
		if _, _, err := net.SplitHostPort(s); err != nil || strings.ContainsFunc(s, unprintable) {
			return errDamaged
		}
	}
	return nil
}

func unprintable(r rune) bool { return r <= ' ' || r > '~' }

// CheckTime returns an error if the token has expired, which says by how much.
func (t *Token) CheckTime(now time.Time) error {
	if late := now.Sub(t.Expires); late > 0 {
		return fmt.Errorf("%w %s expired %s ago, by this host's clock (%s); make a new one with 'scored token create'", ErrToken, t.ID, about(late), stamp(now))
	}
	return nil
}

// Verifier returns the digest of the secret that a server keeps.
func (t *Token) Verifier() []byte { return verifierOf(t.Secret) }

func verifierOf(secret []byte) []byte {
	digest := sha256.Sum256(append([]byte("score join token\x00"), secret...))
	return digest[:]
}

// CheckSecret compares a secret with a Verifier in constant time.
func CheckSecret(secret, verifier []byte) bool {
	return subtle.ConstantTimeCompare(verifierOf(secret), verifier) == 1
}
