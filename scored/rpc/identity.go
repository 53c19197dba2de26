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

// connIdentity is the identity of a connection's peer; err is why it is unknown.
type connIdentity struct {
	identity *scorev1.Identity
	err      error
	agent    string // the node whose agent forwarded the call; "": none did
	limits   limitsReader
}

// ConnContext puts the peer's identity into the context of its requests. It is for the field of
// this name in http.Server.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	identity, err := peerIdentity(c)
	known := connIdentity{identity: identity, err: err}
	if conn, ok := c.(syscall.Conn); ok && err == nil {
		known.limits = limitsOfPeer(conn)
	}
	return context.WithValue(socket.ConnContext(ctx, c), identityKey{}, known)
}

// identityOf returns who sent the request, as the kernel identified them when they connected.
func identityOf(ctx context.Context) (*scorev1.Identity, error) {
	known, ok := ctx.Value(identityKey{}).(connIdentity)
	if !ok {
		return nil, socket.ErrNoIdentity
	}
	return known.identity, known.err
}

// peerIdentity asks the kernel who connected. The groups are those of the process at that time; if
// the kernel cannot report them, they are the user's groups in the user database.
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

// databaseGroups returns a user's groups by the user database; none if it does not know the user.
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

// userName returns the name of a user id, or the number if it has no name.
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

// isAdmin reports whether the user is always an administrator: root, and the user as whom the
// server runs.
func isAdmin(uid uint32) bool { return uid == 0 || int(uid) == os.Getuid() }

// limitPerUser limits how much of the server each user can occupy.
func limitPerUser(next http.Handler, options ...connect.HandlerOption) http.Handler {
	return socket.NewLimits(next, socket.OfUser(func(r *http.Request) (any, error) {
		identity, err := identityOf(r.Context())
		return identity.GetUid(), err
	}), options...)
}

// limitPerAgent limits how much of the server the users of one agent's host can occupy.
func limitPerAgent(next http.Handler) http.Handler {
	return socket.NewLimits(next, socket.OfAgent(func(r *http.Request) (any, error) { return agentOf(r.Context()), nil }))
}
