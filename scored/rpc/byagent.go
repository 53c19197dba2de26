package rpc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/user"
	"score/scored/api"
	"score/scored/api/identity/access"
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

// forAgentsUser is the header by which a server says for which user of an agent's host it passes a
// call on. It is another than that of a user at its own socket, so that a server that does not know
// it gives nobody the role that he has there.
const forAgentsUser = "Score-For-Agents-User"

var (
	errAgentsAlone = errors.New("only agents may call for users of their hosts")
	errBadUID      = errors.New("an agent names a user by one number")
)

// agentsUser finds out for which user of its host an agent calls. What else is known of the user is
// what this server's database of users says.
func agentsUser(r *http.Request, caller pki.Name) (connIdentity, error) {
	if caller.Role != pki.Agent {
		return connIdentity{}, errAgentsAlone
	}
	said := r.Header.Values(api.ForUID)
	if len(said) != 1 {
		return connIdentity{}, errBadUID
	}
	uid, err := strconv.ParseUint(said[0], 10, 32)
	if err != nil {
		return connIdentity{}, errBadUID
	}
	identity, err := databaseIdentity(uint32(uid))
	if err != nil {
		return connIdentity{}, err
	}
	identity = proto.CloneOf(identity) // others have it, too
	identity.Node = caller.Name
	return connIdentity{identity: identity, agent: caller.Name, limits: limitsFromHeader(r.Header)}, nil
}

// knownUsers are those of agents' hosts.
var knownUsers = newCache[*scorev1.Identity]()

// databaseIdentity is what the database of users says of a user.
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

// agentOf returns the node by whose agent a call came; "": by none.
func agentOf(ctx context.Context) string {
	known, _ := ctx.Value(identityKey{}).(connIdentity)
	return known.agent
}

// forwardAgentsUser is the user of an agent's host.
func forwardAgentsUser(r *http.Request) (forwarded, error) {
	said, err := forwardUser(r)
	said.header = forAgentsUser
	return said, err
}

// agentsUserFrom is what another server says of a user of an agent's host.
func agentsUserFrom(text string) (connIdentity, error) {
	identity, err := userFrom(text)
	if err == nil && !api.ValidName(identity.GetNode()) {
		err = errForwarded
	}
	return connIdentity{identity: identity, err: err, agent: identity.GetNode()}, err
}

// byAgents serves the calls that agents pass on.
type byAgents struct {
	users http.Handler // finds who decides
}

// newByAgents has calls of agents' users served by local where this server leads, and by the one
// that leads otherwise.
func newByAgents(local http.Handler, p *Routing) *byAgents {
	next := http.Handler(&router{Routing: p, local: local, identify: forwardAgentsUser})
	return &byAgents{users: limitPerAgent(limitPerUser(next))}
}

// ServeHTTP implements http.Handler. A call that is refused is not read.
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
	if err := access.ByAgent(r.URL.Path); err != nil {
		return nil, err
	}
	who, err := agentsUser(r, caller)
	if err != nil {
		return nil, denied(err)
	}
	return context.WithValue(r.Context(), identityKey{}, who), nil
}

// submitter is whose job it is. Root, and the user as whom the server runs, could have everything
// of a server whose host runs a job of theirs; an agent that says that it is they who call has them
// run jobs on its own node alone.
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
	if elsewhere || spec.GetNodes() > 1 {
		return nil, connect.NewError(connect.CodePermissionDenied, fmt.Errorf(
			"jobs of %s that are submitted on a host with only an agent run on that host, node %s, alone; submit this one on a host where 'scored server' runs, or as another user",
			identity.GetUser(),
			node,
		))
	}
	return identity, nil
}
