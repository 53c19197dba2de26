package rpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"score/scored/api/scorev1"
)

// nameLife is how long the name of a user id is remembered: looking it up may
// ask a directory service, and names change rarely.
const nameLife = time.Minute

// errNoIdentity is a connection of which the kernel did not tell the peer.
var errNoIdentity = errors.New("the kernel does not tell who is at the other end of the connection")

type identityKey struct{}

// connIdentity is what is known of a connection's peer; err tells why not.
type connIdentity struct {
	identity *scorev1.Identity
	err      error
}

// ConnContext puts the peer's identity into the context of its requests; it is
// the field of that name of http.Server.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	identity, err := peerIdentity(c)
	return context.WithValue(ctx, identityKey{}, connIdentity{identity, err})
}

// identityOf is who sent the request, as the kernel told when they connected.
func identityOf(ctx context.Context) (*scorev1.Identity, error) {
	known, ok := ctx.Value(identityKey{}).(connIdentity)
	if !ok {
		return nil, errNoIdentity
	}
	return known.identity, known.err
}

// peerIdentity asks the kernel who connected. Groups too are those of the
// process at that time; where the kernel does not tell them, they are the
// user's by the database of users.
func peerIdentity(c net.Conn) (*scorev1.Identity, error) {
	conn, ok := c.(syscall.Conn)
	if !ok || c.LocalAddr().Network() != "unix" {
		return nil, errNoIdentity
	}
	var groups []uint32
	var groupErr error
	credentials, err := peerCredentials(conn, func(fd int) { groups, groupErr = peerGroups(fd) })
	if err != nil {
		return nil, err
	}
	identity := &scorev1.Identity{Uid: credentials.Uid, Gid: credentials.Gid, User: userName(credentials.Uid), Groups: groups}
	if groupErr != nil {
		identity.Groups = databaseGroups(credentials.Uid)
	}
	return identity, nil
}

// PeerUID is the user at the other end of a connection, as the kernel told when it was made.
func PeerUID(c syscall.Conn) (uint32, error) {
	credentials, err := peerCredentials(c, func(int) {})
	if err != nil {
		return 0, err
	}
	return credentials.Uid, nil
}

// peerCredentials asks the kernel who connected, and has more asked of the same descriptor.
func peerCredentials(c syscall.Conn, more func(fd int)) (*unix.Ucred, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoIdentity, err)
	}
	var credentials *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		credentials, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		more(int(fd))
	})
	if err := errors.Join(err, credErr); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoIdentity, err)
	}
	return credentials, nil
}

// databaseGroups are the groups of a user by the database; none if it does not
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

var names struct {
	sync.Mutex
	known map[uint32]knownName
}

type knownName struct {
	name string
	till time.Time
}

// userName is the name of a user id, or the number where it has none.
func userName(uid uint32) string {
	now := time.Now()
	names.Lock()
	known, ok := names.known[uid]
	names.Unlock()
	if ok && now.Before(known.till) {
		return known.name
	}
	name := strconv.FormatUint(uint64(uid), 10)
	if found, err := user.LookupId(name); err == nil {
		name = found.Username
	}
	names.Lock()
	defer names.Unlock()
	if names.known == nil || len(names.known) > maxKnownNames {
		names.known = make(map[uint32]knownName)
	}
	names.known[uid] = knownName{name, now.Add(nameLife)}
	return name
}

// maxKnownNames bounds the memory of names; a host rarely has more users at once.
const maxKnownNames = 4096

// isAdmin tells whether the user may do what only owners may: root, and the
// user as whom the server runs, who could do it anyway.
func isAdmin(uid uint32) bool { return uid == 0 || int(uid) == os.Getuid() }
