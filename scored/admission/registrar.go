package admission

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"score/scored/api/agentpb"
	"score/scored/api/identity/join"
	"score/scored/api/identity/pki"
	"score/scored/api/scorev1"
	"score/scored/state"
	"time"

	"go.uber.org/zap"
)

// ErrNoAuthority is returned in a cluster on one host, whose daemons know each other by a shared
// key.
var ErrNoAuthority = errors.New("this cluster has no authority for certificates; run 'scored init' on the server's host and restart it")

// ErrTaken is returned for a name that another server has.
var ErrTaken = errors.New("the name is taken")

// Leader stores the decisions.
type Leader interface {
	AddToken(ctx context.Context, t *pki.Token, by string) error
	Admit(ctx context.Context, id string, secret []byte, c *state.Certificate) error
	Renewed(ctx context.Context, c *state.Certificate) error
	ClusterTime() time.Time
}

// Options of a Registrar. Elsewhere, Unchanged and Now are optional.
type Options struct {
	Leader      Leader
	Authority   *pki.Authority
	Credentials *pki.Credentials
	// ClusterKey is given to servers that join.
	ClusterKey string
	// Addresses are where newcomers find the cluster, host:port.
	Addresses func() []string
	// IsServer reports whether the cluster has a server of this name.
	IsServer func(name string) bool
	// Elsewhere is the registrar of the server that leads, nil while it is this one.
	Elsewhere func() PeerRegistrar
	// Unchanged reports of an error, also one of another server, that the request had no effect and
	// can be repeated: another server leads by now, or is about to.
	Unchanged func(error) bool
	Logger    *zap.Logger
	// Now is this host's clock, which dates certificates and tokens, since hosts check them by
	// their own clocks. Default: time.Now.
	Now func() time.Time
}

// PeerRegistrar is the registrar of another server.
type PeerRegistrar interface {
	Admit(context.Context, *agentpb.JoinRequest) (*agentpb.JoinResponse, error)
	// Renew signs the next certificate of this server.
	Renew(ctx context.Context, request []byte) ([]byte, error)
}

// Registrar admits daemons to the cluster. It is safe for concurrent use. The nil Registrar belongs
// to a cluster without certificates.
type Registrar struct{ Options }

// New makes a Registrar.
func New(options Options) *Registrar {
	if options.Now == nil {
		options.Now = time.Now
	}
	return &Registrar{options}
}

// CreateToken makes a token and returns its text, which is not stored. A life of 0 is the default.
func (r *Registrar) CreateToken(ctx context.Context, role string, life time.Duration, by string) (text string, about *scorev1.JoinToken, err error) {
	if r == nil {
		return "", nil, ErrNoAuthority
	}
	parsed, err := pki.ParseRole(role)
	if err != nil {
		return "", nil, err
	}
	if life == 0 {
		life = pki.DefaultTokenLife
	}
	token, err := pki.NewToken(pki.Token{
		Cluster: r.Credentials.Name().Cluster, Role: parsed,
		Authority: pki.DigestOf(r.Authority.Certificate()), Servers: r.Addresses(),
	}, r.Now(), life)
	if err != nil {
		return "", nil, err
	}
	if text, err = token.Text(); err != nil {
		return "", nil, err
	}
	// The cluster's clock may differ from this host's: it does not jump with it.
	kept := *token
	kept.Expires = r.Leader.ClusterTime().Add(life)
	if err := r.Leader.AddToken(ctx, &kept, by); err != nil {
		return "", nil, err
	}
	return text, &scorev1.JoinToken{Id: token.ID, Role: role, ExpiresNanos: token.Expires.UnixNano(), MadeBy: by}, nil
}

// Renew signs the next certificate of an authenticated daemon.
func (r *Registrar) Renew(ctx context.Context, name pki.Name, request []byte) ([]byte, error) {
	if r == nil {
		return nil, ErrNoAuthority
	}
	signed, record, err := r.sign(name, request)
	if err != nil {
		return nil, err
	}
	if err := r.Leader.Renewed(ctx, record); err != nil {
		return nil, err
	}
	r.Logger.Info("certificate renewed", zap.Stringer("of", name), zap.Time("expires", signed.NotAfter))
	return signed.Raw, nil
}

func (r *Registrar) sign(name pki.Name, request []byte) (*x509.Certificate, *state.Certificate, error) {
	signed, err := r.Authority.Sign(request, name, r.Now(), pki.DefaultLife)
	if err != nil {
		return nil, nil, err
	}
	return signed, &state.Certificate{
		Serial: signed.SerialNumber.Bytes(), Role: string(name.Role), Name: name.Name, Expires: signed.NotAfter.UnixNano(),
	}, nil
}

const (
	// leaderPatience bounds the repetitions of a newcomer's request while the leadership changes.
	// It is longer than several elections, and leaves the newcomer time for the answer.
	leaderPatience = join.Timeout / 2
	// leaderPause is the time between two of them: an election takes at least as long.
	leaderPause = 100 * time.Millisecond
)

// receive answers a newcomer, or forwards its request to the leader. It repeats requests that met a
// change of the leadership: who is refused does not come again.
func (r *Registrar) receive(ctx context.Context, request *agentpb.JoinRequest) (*agentpb.JoinResponse, error) {
	if serial := request.GetSerial(); len(serial) > 0 {
		return r.revocation(serial)
	}
	for begin := time.Now(); ; {
		answer, err := r.decide(ctx, request)
		if err == nil || r.Unchanged == nil || !r.Unchanged(err) || time.Since(begin) > leaderPatience {
			return answer, err
		}
		select {
		case <-time.After(leaderPause):
		case <-ctx.Done():
			return nil, err
		}
	}
}

func (r *Registrar) decide(ctx context.Context, request *agentpb.JoinRequest) (*agentpb.JoinResponse, error) {
	if other := r.elsewhere(); other != nil {
		return other.Admit(ctx, request)
	}
	return r.Admit(ctx, request)
}

// maxSerial bounds the number of a certificate in bytes (RFC 5280, section 4.1.2.2).
const maxSerial = 20

// revocation reports whether a certificate was revoked: its owner is refused in the handshake,
// which gives no reason. The answer of any server is valid, since revocation is final. Only the
// owner knows the number.
func (r *Registrar) revocation(serial []byte) (*agentpb.JoinResponse, error) {
	if len(serial) > maxSerial {
		return nil, fmt.Errorf(
			"a certificate's number has up to %d bytes, and this one %d",
			maxSerial,
			len(serial),
		) //nolint:err113 // for nobody but whoever made the number up
	}
	return &agentpb.JoinResponse{Revoked: r.Credentials.IsRevoked(serial)}, nil
}

func (r *Registrar) elsewhere() PeerRegistrar {
	if r.Elsewhere == nil {
		return nil
	}
	return r.Elsewhere()
}

// Admit answers a newcomer.
func (r *Registrar) Admit(ctx context.Context, request *agentpb.JoinRequest) (*agentpb.JoinResponse, error) {
	role, err := pki.ParseRole(request.GetRole())
	if err != nil {
		return nil, err
	}
	name := pki.Name{Cluster: r.Credentials.Name().Cluster, Role: role, Name: request.GetName()}
	if role == pki.Server && r.IsServer(name.Name) {
		// The others would take it for the existing server, but it has nothing of the log that that
		// server promised to keep.
		return nil, fmt.Errorf(
			"%w: a server named %s is one of the cluster's; remove it first ('scored server remove %s'), or choose another name",
			ErrTaken,
			name.Name,
			name.Name,
		)
	}
	signed, record, err := r.sign(name, request.GetRequest())
	if err != nil {
		return nil, err
	}
	if err := r.Leader.Admit(ctx, request.GetTokenId(), request.GetSecret(), record); err != nil {
		return nil, err
	}
	answer := &agentpb.JoinResponse{Authority: r.Authority.Certificate().Raw, Certificate: signed.Raw}
	if role == pki.Server {
		answer.ClusterKey = r.ClusterKey
		// Any server may have to sign when it leads. A newcomer that shows the secret of a server's
		// token becomes one; the connection is encrypted, and the newcomer has verified the server
		// by the digest in the token.
		if answer.AuthorityKey, err = r.Authority.Key(); err != nil {
			return nil, err
		}
	}
	r.Logger.Info("a daemon joined", zap.Stringer("name", name), zap.String("token", request.GetTokenId()), zap.Time("expires", signed.NotAfter))
	return answer, nil
}

// KeepOwn renews this server's own certificate in dir until ctx ends.
func (r *Registrar) KeepOwn(ctx context.Context, dir string) {
	r.Credentials.Keep(ctx, pki.Keeper{
		Dir: dir, Ask: r.renewOwn,
		Unusable: func(err error) { r.Logger.Warn("the certificate on disk cannot be used", zap.Error(err)) },
		Failed: func(err error) {
			r.Logger.Error("this server's certificate could not be renewed", zap.Time("expires", r.Credentials.Expires()), zap.Error(err))
		},
		Renewed: func() {}, // Renew has logged it
	})
}

func (r *Registrar) renewOwn(ctx context.Context, request []byte) ([]byte, error) {
	if other := r.elsewhere(); other != nil {
		return other.Renew(ctx, request)
	}
	return r.Renew(ctx, r.Credentials.Name(), request)
}
