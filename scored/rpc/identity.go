package rpc

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/user"
	"score/scored/api/scorev1"
	"score/scored/api/texts"
	"score/scored/api/transport/socket"
	"slices"
	"strconv"
	"syscall"
	"time"

	"connectrpc.com/connect"
)

type identityKey struct{}

// connIdentity is what is known of a connection's peer; err tells why not.
type connIdentity struct {
	identity *scorev1.Identity
	err      error
	agent    string // the node by whose agent the call came; "": by none
	limits   limitsReader
}

// ConnContext puts the peer's identity into the context of its requests; it is
// the field of that name of http.Server.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	identity, err := peerIdentity(c)
	known := connIdentity{identity: identity, err: err}
	if conn, ok := c.(syscall.Conn); ok && err == nil {
		known.limits = limitsOfPeer(conn)
	}
	return context.WithValue(ctx, identityKey{}, known)
}

// identityOf is who sent the request, as the kernel told when they connected.
func identityOf(ctx context.Context) (*scorev1.Identity, error) {
	known, ok := ctx.Value(identityKey{}).(connIdentity)
	if !ok {
		return nil, socket.ErrNoIdentity
	}
	return known.identity, known.err
}

// peerIdentity asks the kernel who connected. Groups too are those of the
// process at that time; where the kernel does not tell them, they are the
// user's by the database of users.
func peerIdentity(c net.Conn) (*scorev1.Identity, error) {
	conn, ok := c.(syscall.Conn)
	if !ok || c.LocalAddr().Network() != "unix" {
		return nil, socket.ErrNoIdentity
	}
	var groups []uint32
	var groupErr error
	credentials, err := socket.Peer(conn, func(fd int) { groups, groupErr = peerGroups(fd) })
	if err != nil {
		return nil, err
	}
	identity := &scorev1.Identity{Uid: credentials.Uid, Gid: credentials.Gid, User: userName(credentials.Uid), Groups: groups}
	if groupErr != nil {
		identity.Groups = databaseGroups(credentials.Uid)
	}
	return identity, nil
}

// databaseGroups returns the groups of a user by the database; none if it does not
// know the user.
func databaseGroups(uid uint32) []uint32 {
	known, err := user.LookupId(strconv.FormatUint(uint64(uid), 10))
	if err != nil {
		return nil
	}
	ids, err := known.GroupIds()
	if err != nil {
		return nil
	}
	var groups []uint32
	for _, id := range ids {
		if gid, err := strconv.ParseUint(id, 10, 32); err == nil {
			groups = append(groups, uint32(gid))
		}
	}
	slices.Sort(groups)
	return groups
}

var names = newCache[string]()

// userName returns the name of a user id, or the number where it has none.
func userName(uid uint32) string {
	now := time.Now()
	if known, ok := names.get(uid, now); ok {
		return known
	}
	name := strconv.FormatUint(uint64(uid), 10)
	if found, err := user.LookupId(name); err == nil {
		name = texts.UTF8(found.Username)
	}
	names.put(uid, name, now)
	return name
}

// isAdmin reports whether the user may do what only owners may: root, and the
// user as whom the server runs, who could do it anyway.
func isAdmin(uid uint32) bool { return uid == 0 || int(uid) == os.Getuid() }

// limitPerUser bounds what each user can keep the server busy with.
func limitPerUser(next http.Handler, options ...connect.HandlerOption) http.Handler {
	return socket.NewLimits(next, socket.OfUser(func(r *http.Request) (any, error) {
		identity, err := identityOf(r.Context())
		return identity.GetUid(), err
	}), options...)
}

// limitPerAgent bounds what the users of an agent's host can keep the server busy with.
func limitPerAgent(next http.Handler) http.Handler {
	return socket.NewLimits(next, socket.OfAgent(func(r *http.Request) (any, error) { return agentOf(r.Context()), nil }))
}
