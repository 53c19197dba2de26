package rpc

import (
	"context"
	"errors"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/user"
	"path/filepath"
	"score/scored/api"
	"score/scored/api/identity/pki"
	"score/scored/api/scorev1"
	"score/scored/api/transport/socket"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"connectrpc.com/connect"
)

// connection returns both ends of a Unix socket.
func connection(t *testing.T) (server net.Conn) {
	t.Helper()
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "socket"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	client, err := net.Dial("unix", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	server, err = listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return server
}

func TestTheKernelTellsWhoConnected(t *testing.T) {
	identity, err := identityOf(ConnContext(context.Background(), connection(t)))
	if err != nil {
		t.Fatal(err)
	}
	if int(identity.GetUid()) != os.Getuid() || int(identity.GetGid()) != os.Getgid() {
		t.Errorf("identity %v", identity)
	}
	groups, err := os.Getgroups()
	if err != nil {
		t.Fatal(err)
	}
	if len(groups) != len(identity.GetGroups()) {
		t.Errorf("groups %v, the kernel says %v", groups, identity.GetGroups())
	}
	if me, err := user.Current(); err == nil && identity.GetUser() != me.Username {
		t.Errorf("user %q, is %q", identity.GetUser(), me.Username)
	}
}

func TestOtherConnectionsHaveNoIdentity(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if _, err := identityOf(ConnContext(context.Background(), a)); !errors.Is(err, socket.ErrNoIdentity) {
		t.Errorf("pipe: %v", err)
	}
	if _, err := identityOf(context.Background()); !errors.Is(err, socket.ErrNoIdentity) {
		t.Errorf("no connection: %v", err)
	}
	closed := connection(t)
	closed.Close()
	if _, err := peerIdentity(closed); !errors.Is(err, socket.ErrNoIdentity) {
		t.Errorf("closed connection: %v", err)
	}
}

func TestGroupsAndNamesFromTheDatabase(t *testing.T) {
	if got := databaseGroups(4_000_000_000); got != nil {
		t.Errorf("groups of nobody: %v", got)
	}
	root, err := user.LookupId("0")
	if err != nil {
		t.Skip("the database of users does not know root")
	}
	if name := userName(0); name != root.Username {
		t.Errorf("name %q", name)
	}
	if got := databaseGroups(0); !slices.Contains(got, 0) {
		t.Errorf("groups of root: %v", got)
	}
	for uid := range uint32(maxKnownNames + 10) {
		if name := userName(3_000_000_000 + uid); name != strconv.FormatUint(3_000_000_000+uint64(uid), 10) {
			t.Fatalf("name %q", name)
		}
	}
	if len(names.known) > maxKnownNames+1 {
		t.Errorf("%d names are remembered", len(names.known))
	}
}

// A submission has the limits of the calling process on every path. A header in which a user claims
// others has no effect.
func TestSubmissionsHaveTheLimitsOfTheirProcess(t *testing.T) {
	has, err := socket.PeerLimits(connection(t).(syscall.Conn))
	if err != nil {
		t.Fatal(err)
	}
	claims := &scorev1.JobSpec{Limits: []*scorev1.ResourceLimit{{Resource: 7, Soft: math.MaxUint64, Hard: math.MaxUint64}}}
	files := has[7]
	check := func(where string, ctx context.Context) {
		t.Helper()
		spec, err := withOwnLimits(ctx, claims)
		if err != nil || len(spec.GetLimits()) != len(has) || spec.GetLimits()[7].GetHard() != files.GetHard() ||
			spec.GetLimits()[7].GetSoft() > files.GetHard() {
			t.Errorf("%s: %v, %v; the process has %v", where, spec.GetLimits(), err, files)
		}
	}
	ctx := ConnContext(t.Context(), connection(t))
	check("at the socket", ctx)
	r := httptest.NewRequest(http.MethodPost, api.KeyedSubmit, nil).WithContext(ctx)
	r.Header.Set(api.ForLimits, "7=18446744073709551615:18446744073709551615")
	said, err := forwardUser(r)
	if err != nil {
		t.Fatal(err)
	}
	said.put(r.Header)
	passed := &daemonHandler{here: func() bool { return true }}
	ctx, _, err = passed.identify(r.WithContext(context.WithValue(t.Context(), daemonKey{}, pki.Name{Cluster: "lab", Role: pki.Server, Name: "s2"})))
	if err != nil {
		t.Fatal(err)
	}
	check("at the server that leads", ctx)
}

// A submission is refused if its process's limits cannot be read.
func TestSubmissionsOfTheDeadAreRefused(t *testing.T) {
	gone := connection(t)
	ctx := ConnContext(t.Context(), gone)
	gone.Close()
	if spec, err := withOwnLimits(ctx, &scorev1.JobSpec{}); connect.CodeOf(err) != connect.CodeFailedPrecondition {
		t.Errorf("%v, %v", spec, err)
	}
}
