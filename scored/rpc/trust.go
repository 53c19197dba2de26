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
	// forUser and forDaemon are the headers in which a server names the caller of a call that it
	// forwards: a user identified by its kernel, or a daemon by its certificate. Only servers may
	// send them.
	forUser   = "Score-For-User"
	forDaemon = "Score-For-Daemon"
	// maxForwarded bounds their values: a user may have many groups.
	maxForwarded = 512 << 10
)

// errForwarded refuses a forwarded call from a peer that may not forward.
var errForwarded = errors.New("only servers may call for others")

// forwarded is the original caller of a forwarded call.
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

// forwardUser returns the user at the other end of a Unix socket.
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

// forwardDaemon returns the daemon at the other end of a TLS connection.
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

// daemonHandler serves the daemons' address: calls of daemons, and calls that servers forward. A
// forwarded call is never forwarded again: a server that does not lead sends it back.
type daemonHandler struct {
	daemons http.Handler // calls of daemons
	passed  http.Handler // forwarded calls of daemons
	users   http.Handler // forwarded calls of users
	byAgent http.Handler // calls that agents forward for their users
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

// identify returns the context and handler of a forwarded call; next is nil if the call is not
// forwarded.
func (h *daemonHandler) identify(r *http.Request) (ctx context.Context, next http.Handler, err error) {
	user, daemon, byAgent := r.Header.Values(forUser), r.Header.Values(forDaemon), r.Header.Values(forAgentsUser)
	headers := len(user) + len(daemon) + len(byAgent)
	if headers == 0 {
		return r.Context(), nil, nil
	}
	caller, err := daemonOf(r.Context())
	if err != nil || caller.Role != pki.Server || headers != 1 {
		return nil, nil, errForwarded
	}
	if len(user) == 1 {
		identity, err := userFrom(user[0])
		return context.WithValue(r.Context(), identityKey{}, connIdentity{identity: identity, err: err, limits: limitsFromHeader(r.Header)}), h.users, err
	}
	if len(byAgent) == 1 {
		who, err := agentsUserFrom(byAgent[0])
		who.limits = limitsFromHeader(r.Header)
		return context.WithValue(r.Context(), identityKey{}, who), h.users, err
	}
	name, err := pki.ParseURI(daemon[0])
	if err != nil || name.Cluster != caller.Cluster {
		return nil, nil, fmt.Errorf("%w: the named daemon is not of this cluster", errForwarded)
	}
	return context.WithValue(r.Context(), daemonKey{}, name), h.passed, nil
}
