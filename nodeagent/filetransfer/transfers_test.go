package filetransfer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"score/nodeagent/peers"
	"score/nodeagent/staging"
	"score/scored/api/agentpb"
	"score/scored/api/agentpb/agentpbconnect"
	"score/scored/api/identity/access"
	"score/scored/api/identity/pki"
	"score/scored/api/identity/pki/pkitest"
	"score/scored/api/scorev1"
	"score/scored/api/transport/h2"
	"score/scored/api/transport/h2/h2test"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
)

func TestStageTree(t *testing.T) {
	places := func(addresses ...string) (out []*scorev1.NodePlace) {
		for _, a := range addresses {
			out = append(out, &scorev1.NodePlace{Address: a})
		}
		return out
	}
	for _, test := range []struct {
		seed   string
		places []*scorev1.NodePlace
		index  uint32
		want   string
	}{
		{"s", places("a", "b", "c", "d", "e", "f"), 0, "s"},
		{"s", places("a", "b", "c", "d", "e", "f"), 5, "b s"}, // s; a b; c d e f
		{"s", places("a", "b", "c", "d", "e", "f", "g"), 6, "c a s"},
		{"b", places("a", "b", "c"), 1, ""}, // it has them
		{"b", places("a", "b", "c"), 0, "b"},
		{"b", places("a", "b", "c", "d"), 3, "a b"},
	} {
		addresses, index := tree(&agentpb.Prepare{StageSeed: test.seed, Places: test.places, NodeIndex: test.index})
		if got := strings.Join(above(addresses, index), " "); got != test.want {
			t.Errorf("seed %s, node %d: %q, want %q", test.seed, test.index, got, test.want)
		}
	}
	addresses := make([]string, 4096)
	if depth := len(above(addresses, 4095)); depth != 12 {
		t.Errorf("4,096 nodes are %d deep", depth)
	}
}

func TestPrepend(t *testing.T) {
	for _, test := range []struct{ env, want []string }{
		{[]string{"A=1"}, []string{"A=1", "P=/d"}},
		{[]string{"P=/x", "A=1"}, []string{"A=1", "P=/d:/x"}},
		{[]string{"P="}, []string{"P=/d"}},
		// getenv finds the first setting, the dynamic loader the last: there is one.
		{[]string{"P=/x", "P=/y"}, []string{"P=/d:/x"}},
	} {
		before := slices.Clone(test.env)
		if diff := cmp.Diff(test.want, prepend(test.env, "P", "/d")); diff != "" || !slices.Equal(before, test.env) {
			t.Errorf("%v (-want +got):\n%s", test.env, diff)
		}
	}
}

// stageNode plays an agent that has a file.
type stageNode struct {
	agentpbconnect.UnimplementedPeerServiceHandler
	data  []byte
	limit int // bytes that it gives before it breaks off; -1: all
	fails error
	calls atomic.Int32
	asked chan struct{} // gets the first call; nil: nobody waits for it
}

func (n *stageNode) FetchStaged(_ context.Context, r *connect.Request[agentpb.FetchStagedRequest], stream *connect.ServerStream[agentpb.StagedData]) error {
	if n.calls.Add(1) == 1 && n.asked != nil {
		close(n.asked)
	}
	rest := n.data[r.Msg.GetFrom():]
	if n.limit >= 0 {
		rest = rest[:min(len(rest), n.limit)]
	}
	if len(rest) > 0 {
		if err := stream.Send(&agentpb.StagedData{Data: rest}); err != nil {
			return err
		}
	}
	return n.fails
}

func (n *stageNode) listen(t *testing.T) string { return serve(t, "n2", n) }

// serve serves other agents as the agent of a node does.
func serve(t *testing.T, node string, service agentpbconnect.PeerServiceHandler) (address string) {
	t.Helper()
	listener := h2test.Listen(t, pkitest.FromKey(t, "key", "lab", pki.Agent, node), pki.Agent)
	mux := http.NewServeMux()
	mux.Handle(agentpbconnect.NewPeerServiceHandler(service))
	server := h2.NewServer(access.Guard(mux))
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // it ends by Close
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-served
	})
	return listener.Addr().String()
}

func stageAgent(t *testing.T) *Transfers {
	cache, err := staging.Open(filepath.Join(t.TempDir(), "cache"), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cache.Close)
	others := peers.New(pkitest.FromKey(t, "key", "lab", pki.Agent, "n1"), true)
	t.Cleanup(others.Close)
	return New(Options{Node: "n1", Cache: cache, Peers: others, Go: func(f func()) { go f() }, Logger: zap.NewNop()})
}

// A node of the tree that is lost midway, and one that nobody listens for: the file comes from
// those above, from the byte on that is missing.
func TestStageFromThoseAbove(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789"), 10_000)
	sum := sha256.Sum256(data)
	file := &scorev1.StagedFile{Name: "a.out", Sha256: sum[:], Size: uint64(len(data))}
	user := &scorev1.Identity{Uid: uint32(os.Geteuid()), Gid: uint32(os.Getegid())}
	lost := connect.NewError(connect.CodeUnavailable, errors.New("lost"))
	parent, seed := &stageNode{data: data, limit: 30_000, fails: lost}, &stageNode{data: data, limit: -1}
	agents := []string{parent.listen(t), "127.0.0.1:1", seed.listen(t)}
	a := stageAgent(t)
	if err := a.fetchAll(t.Context(), source{1, user, agents}, []*scorev1.StagedFile{file}); err != nil {
		t.Fatal(err)
	}
	if parent.calls.Load() != 1 || seed.calls.Load() != 1 {
		t.Errorf("the parent was asked %d times, the seed %d times", parent.calls.Load(), seed.calls.Load())
	}
	f, _ := stagedFile(file)
	if got, err := os.ReadFile(a.options.Cache.Path(User(user), f)); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes: %v", len(got), err)
	}
	// One that gives other bytes does not get them executed.
	other := &stageNode{data: bytes.Repeat([]byte("x"), len(data)), limit: -1}
	b := stageAgent(t)
	if err := b.fetchAll(t.Context(), source{1, user, []string{other.listen(t)}}, []*scorev1.StagedFile{file}); !errors.Is(err, staging.ErrDamaged) {
		t.Errorf("other bytes: %v", err)
	}
	// One that ends too early is no source of the whole file.
	early := &stageNode{data: data, limit: 10}
	c := stageAgent(t)
	if err := c.fetchAll(t.Context(), source{1, user, []string{early.listen(t), seed.listen(t)}}, []*scorev1.StagedFile{file}); err != nil {
		t.Errorf("the first ends early: %v", err)
	}
	// The one that was given it first has it no more.
	gone := &stageNode{fails: connect.NewError(connect.CodeNotFound, staging.ErrAbsent), limit: 0}
	if err := b.fetchAll(t.Context(), source{1, user, []string{gone.listen(t)}}, []*scorev1.StagedFile{file}); !errors.Is(err, errGone) {
		t.Errorf("gone: %v", err)
	}
	// Whoever is to have it, and has not.
	if err := b.fetchAll(t.Context(), source{1, user, nil}, []*scorev1.StagedFile{file}); !errors.Is(err, errGone) {
		t.Errorf("the seed without the file: %v", err)
	}
	for _, bad := range []*scorev1.StagedFile{
		{Name: "../a", Sha256: sum[:]}, {Name: "a", Sha256: sum[:5]}, {Name: "a", Sha256: sum[:], Size: 1 << 63}, {Name: "", Sha256: sum[:]},
	} {
		if err := b.fetchAll(t.Context(), source{1, user, agents}, []*scorev1.StagedFile{bad}); err == nil {
			t.Errorf("%v was taken", bad)
		}
	}
}

// A node fetches files of its own jobs, and of no others: a stolen agent has only its own
// certificate to show.
func TestFetchStagedOfOthersJobs(t *testing.T) {
	data := []byte("of n2's job")
	sum := sha256.Sum256(data)
	file := &scorev1.StagedFile{Name: "a.out", Sha256: sum[:], Size: uint64(len(data))}
	files := []*scorev1.StagedFile{file}
	user := &scorev1.Identity{Uid: uint32(os.Geteuid()), Gid: uint32(os.Getegid())}
	a := stageAgent(t)
	if err := a.fetchAll(t.Context(), source{1, user, []string{(&stageNode{data: data, limit: -1}).listen(t)}}, files); err != nil {
		t.Fatal(err)
	}
	address := serve(t, "n1", handler{files: a})
	fetch := func(name string, job uint64) (string, error) {
		peers := peers.New(pkitest.FromKey(t, "key", "lab", pki.Agent, name), true)
		t.Cleanup(peers.Close)
		var got bytes.Buffer
		err := peers.FetchStaged(t.Context(), address, &agentpb.FetchStagedRequest{JobId: job, User: user, File: file}, &got)
		return got.String(), err
	}
	refused := func(name string, job uint64, code connect.Code) {
		t.Helper()
		if got, err := fetch(name, job); connect.CodeOf(err) != code || got != "" {
			t.Errorf("%s got %q of job %d: %v", name, got, job, err)
		}
	}
	allowed := func(name string, job uint64) {
		t.Helper()
		if got, err := fetch(name, job); err != nil || got != string(data) {
			t.Errorf("%s got %q of job %d: %v", name, got, job, err)
		}
	}
	stage := func(nodes ...string) {
		a.FetchEarly(t.Context(), &agentpb.Stage{JobId: 1, User: user, Files: files, Addresses: []string{address, "127.0.0.1:1"}, Nodes: nodes})
	}
	refused("n2", 1, connect.CodePermissionDenied) // no job has it
	stage("n1", "n2")
	allowed("n2", 1)
	refused("n3", 1, connect.CodePermissionDenied)
	stage("n1", "n2", "n3") // the job has got another node than was thought
	allowed("n3", 1)
	a.fetchers.add(2, "n1", "n4")
	refused("n4", 1, connect.CodePermissionDenied)
	refused("n4", 2, connect.CodeNotFound) // it has a job here, without this file
	a.Release(1)
	refused("n2", 1, connect.CodePermissionDenied)
}

// handler serves files alone.
type handler struct {
	agentpbconnect.UnimplementedPeerServiceHandler
	files *Transfers
}

func (h handler) FetchStaged(ctx context.Context, r *connect.Request[agentpb.FetchStagedRequest], stream *connect.ServerStream[agentpb.StagedData]) error {
	return h.files.FetchStaged(ctx, r, stream)
}

// Files are fetched from the agents of the nodes that the leader has named, and from nobody who has
// taken their addresses.
func TestStageFromTheNodesNamed(t *testing.T) {
	thief := &stageNode{data: []byte("x"), limit: -1} // of node n2
	address := thief.listen(t)
	sum := sha256.Sum256(thief.data)
	files := []*scorev1.StagedFile{{Name: "a.out", Sha256: sum[:], Size: 1}}
	fetch := func(a *Transfers) error {
		return a.options.Peers.FetchStaged(t.Context(), address, &agentpb.FetchStagedRequest{JobId: 1, File: files[0]}, new(bytes.Buffer))
	}
	a := stageAgent(t)
	a.FetchEarly(t.Context(), &agentpb.Stage{JobId: 1, Files: files, Addresses: []string{address}, Nodes: []string{"n3"}})
	if err := fetch(a); pki.FaultOf(err) != pki.FaultName || thief.calls.Load() != 0 {
		t.Errorf("the file of a job that waits is asked of the wrong node: %v", err)
	}
	b := stageAgent(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	user := &scorev1.Identity{Uid: uint32(os.Geteuid())}
	_ = b.Fetch(ctx, &agentpb.Prepare{Spec: &scorev1.JobSpec{Staged: files, StageSeed: "n3"}, User: user, StageSeed: address}) // it ends at once
	if err := fetch(b); pki.FaultOf(err) != pki.FaultName || thief.calls.Load() != 0 {
		t.Errorf("the file of a job is asked of the wrong node: %v", err)
	}
	if err := fetch(stageAgent(t)); err != nil || thief.calls.Load() != 1 {
		t.Errorf("where nothing is expected: %v", err)
	}
}
