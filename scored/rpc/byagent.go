package rpc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/user"
	"score/scored/api"
	"score/scored/api/identity/pki"
	"score/scored/api/scorev1"
	"score/scored/api/texts"
	"score/scored/api/transport/forward"
	"slices"
	"strconv"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
)

// forAgentsUser is the header in which a server names the user of an agent's host for whom it
// forwards a call. It differs from the header for users of the server's own socket, so that a
// server that does not know it does not give the user the role that the same number has there.
const forAgentsUser = "Score-For-Agents-User"

var (
	errAgentsAlone = errors.New("only agents may call for users of their hosts")
	errBadUID      = errors.New("an agent names a user by one number")
)

// agentsUser returns the user of its host for whom an agent calls. The agent sends only the number;
// this server's user database has the rest.
func agentsUser(r *http.Request, caller pki.Name) (connIdentity, error) {
	if caller.Role != pki.Agent {
		return connIdentity{}, errAgentsAlone
	}
	values := r.Header.Values(api.ForUID)
	if len(values) != 1 {
		return connIdentity{}, errBadUID
	}
	uid, err := strconv.ParseUint(values[0], 10, 32)
	if err != nil {
		return connIdentity{}, errBadUID
	}
	identity, err := databaseIdentity(uint32(uid))
	if err != nil {
		return connIdentity{}, err
	}
	identity = proto.CloneOf(identity) // the cached one is shared
	identity.Node = caller.Name
	return connIdentity{identity: identity, agent: caller.Name, limits: limitsFromHeader(r.Header)}, nil
}

// knownUsers caches the users of agents' hosts.
var knownUsers = newCache[*scorev1.Identity]()

// databaseIdentity returns a user's identity from the user database.
func databaseIdentity(uid uint32) (*scorev1.Identity, error) {
	now := time.Now()
	if known, ok := knownUsers.get(uid, now); ok {
		return known, nil
	}
	number := strconv.FormatUint(uint64(uid), 10)
	found, err := user.LookupId(number)
	if err != nil {
		return nil, fmt.Errorf("the servers' hosts know no user with the number %s; the hosts of a cluster must have the same users", number)
	}
	gid, err := strconv.ParseUint(found.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("user %s has the group %q: %w", number, found.Gid, err)
	}
	identity := &scorev1.Identity{Uid: uid, Gid: uint32(gid), User: texts.UTF8(found.Username), Groups: databaseGroups(uid)}
	knownUsers.put(uid, identity, now)
	return identity, nil
}

// agentOf returns the node whose agent forwarded the call; "": none did.
func agentOf(ctx context.Context) string {
	known, _ := ctx.Value(identityKey{}).(connIdentity)
	return known.agent
}

// forwardAgentsUser returns the user of an agent's host to forward.
func forwardAgentsUser(r *http.Request) (forwarded, error) {
	user, err := forwardUser(r)
	user.header = forAgentsUser
	return user, err
}

// agentsUserFrom parses what another server forwards about a user of an agent's host.
func agentsUserFrom(text string) (connIdentity, error) {
	identity, err := userFrom(text)
	if err == nil && !api.ValidName(identity.GetNode()) {
		err = errForwarded
	}
	return connIdentity{identity: identity, err: err, agent: identity.GetNode()}, err
}

// byAgents serves the calls that agents forward.
type byAgents struct {
	users http.Handler // routes to the server that leads
}

// newByAgents serves calls of agents' users with local if this server leads, and forwards them to
// the leader otherwise.
func newByAgents(local http.Handler, p *Routing) *byAgents {
	next := http.Handler(&router{Routing: p, local: local, identify: forwardAgentsUser})
	// A call that waits for its turn among its user's takes none from other users of the host.
	return &byAgents{users: limitPerUser(limitPerAgent(next))}
}

// ServeHTTP implements http.Handler. It refuses a call without reading its body.
func (h *byAgents) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, err := h.open(r)
	if err != nil {
		forward.Refuse(w, r, err)
		return
	}
	h.users.ServeHTTP(w, r.WithContext(ctx))
}

func (h *byAgents) open(r *http.Request) (context.Context, error) {
	denied := func(err error) error { return connect.NewError(connect.CodePermissionDenied, err) }
	caller, err := daemonOf(r.Context())
	if err != nil {
		return nil, denied(err)
	}
	if err := api.ByAgent(r.URL.Path); err != nil {
		return nil, err
	}
	who, err := agentsUser(r, caller)
	if err != nil {
		return nil, denied(err)
	}
	return context.WithValue(r.Context(), identityKey{}, who), nil
}

// submitter returns the user whose job it is. An agent could claim to call for root, or for the
// user as whom the server runs, and would have all rights on the hosts that run the job. Therefore
// their jobs, submitted through an agent, run only on that agent's node.
func submitter(ctx context.Context, spec *scorev1.JobSpec) (*scorev1.Identity, error) {
	identity, err := identityOf(ctx)
	if err != nil || agentOf(ctx) == "" {
		return identity, err
	}
	identity = proto.CloneOf(identity)
	if !isAdmin(identity.GetUid()) {
		identity.Node = ""
		return identity, nil
	}
	node := identity.GetNode()
	elsewhere := slices.ContainsFunc(spec.GetNodeList(), func(name string) bool { return name != node })
	if elsewhere || spec.GetNodes() > 1 || slices.Contains(spec.GetExcludeList(), node) {
		return nil, connect.NewError(connect.CodePermissionDenied, fmt.Errorf(
			"jobs of %s that are submitted on a host with only an agent run on that host, node %s, alone; submit this one on a host where 'scored server' runs, or as another user",
			identity.GetUser(),
			node,
		))
	}
	return identity, nil
}
