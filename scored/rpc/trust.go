package rpc

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"score/scored/api"
	"score/scored/api/identity/pki"
	"score/scored/api/scorev1"

	"google.golang.org/protobuf/proto"
)

const (
	// forUser and forDaemon are the headers by which a server says for whom it passes a call on: a
	// user as its kernel told, and a daemon by its certificate. Only servers are believed.
	forUser   = "Score-For-User"
	forDaemon = "Score-For-Daemon"
	// maxForwarded bounds them: the groups of a user who has many.
	maxForwarded = 512 << 10
)

// errForwarded is a call that says of itself for whom it is, and must not.
var errForwarded = errors.New("only servers may call for others")

// forwarded is for whom a call is passed on.
type forwarded struct{ header, value, limits string }

func (f forwarded) put(h http.Header) {
	h.Del(forUser)
	h.Del(forDaemon)
	h.Del(forAgentsUser)
	h.Del(api.ForUID)
	h.Del(api.ForLimits)
	h.Set(f.header, f.value)
	if f.limits != "" {
		h.Set(api.ForLimits, f.limits)
	}
}

// forwardUser is the user at the other end of a Unix socket.
func forwardUser(r *http.Request) (forwarded, error) {
	identity, err := identityOf(r.Context())
	if err != nil {
		return forwarded{}, err
	}
	data, err := proto.Marshal(identity)
	if err != nil {
		return forwarded{}, err
	}
	limits, err := limitsHeaderFor(r)
	if err != nil {
		return forwarded{}, err
	}
	return forwarded{forUser, base64.StdEncoding.EncodeToString(data), limits}, nil
}

// forwardDaemon is the daemon at the other end of an encrypted connection.
func forwardDaemon(r *http.Request) (forwarded, error) {
	name, err := daemonOf(r.Context())
	if err != nil {
		return forwarded{}, err
	}
	return forwarded{header: forDaemon, value: name.URI()}, nil
}

func userFrom(text string) (*scorev1.Identity, error) {
	data, err := base64.StdEncoding.DecodeString(text)
	if len(text) > maxForwarded || err != nil {
		return nil, errForwarded
	}
	identity := new(scorev1.Identity)
	if err := proto.Unmarshal(data, identity); err != nil {
		return nil, errForwarded
	}
	return identity, nil
}

// daemonHandler serves what comes to the address of the daemons: calls of daemons, and calls that a
// server passes on. The latter end here: a server that does not lead sends them back.
type daemonHandler struct {
	daemons http.Handler // calls of daemons
	passed  http.Handler // calls for daemons
	users   http.Handler // calls for users
	byAgent http.Handler // calls that agents pass on
	here    func() bool
}

// ServeHTTP implements http.Handler.
func (h *daemonHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if len(r.Header.Values(api.ForUID)) > 0 && len(r.Header.Values(forUser))+len(r.Header.Values(forDaemon))+len(r.Header.Values(forAgentsUser)) == 0 {
		h.byAgent.ServeHTTP(w, r)
		return
	}
	ctx, next, err := h.identify(r)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusForbidden)
	case next == nil:
		h.daemons.ServeHTTP(w, r)
	case !h.here():
		http.Error(w, errSentBack.Error(), http.StatusMisdirectedRequest)
	default:
		next.ServeHTTP(w, r.WithContext(ctx))
	}
}

// identify finds out for whom a call is; next is nil when nobody has passed it on.
func (h *daemonHandler) identify(r *http.Request) (ctx context.Context, next http.Handler, err error) {
	user, daemon, guest := r.Header.Values(forUser), r.Header.Values(forDaemon), r.Header.Values(forAgentsUser)
	said := len(user) + len(daemon) + len(guest)
	if said == 0 {
		return r.Context(), nil, nil
	}
	caller, err := daemonOf(r.Context())
	if err != nil || caller.Role != pki.Server || said != 1 {
		return nil, nil, errForwarded
	}
	if len(user) == 1 {
		identity, err := userFrom(user[0])
		return context.WithValue(r.Context(), identityKey{}, connIdentity{identity: identity, err: err, limits: limitsFromHeader(r.Header)}), h.users, err
	}
	if len(guest) == 1 {
		who, err := agentsUserFrom(guest[0])
		who.limits = limitsFromHeader(r.Header)
		return context.WithValue(r.Context(), identityKey{}, who), h.users, err
	}
	name, err := pki.ParseURI(daemon[0])
	if err != nil || name.Cluster != caller.Cluster {
		return nil, nil, fmt.Errorf("%w: for no daemon of this cluster", errForwarded)
	}
	return context.WithValue(r.Context(), daemonKey{}, name), h.passed, nil
}
