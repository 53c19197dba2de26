package rpc

import (
	"context"
	"errors"
	"score/scored/api"
	"score/scored/api/scorev1"
	"score/scored/leader"
	"score/tests/await"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
)

func TestStagedFilesAreChecked(t *testing.T) {
	file := func(change func(*scorev1.StagedFile)) *scorev1.StagedFile {
		f := &scorev1.StagedFile{Name: "a.out", Sha256: make([]byte, sumBytes), Size: 1, Kind: scorev1.StagedKind_STAGED_KIND_PROGRAM}
		change(f)
		return f
	}
	same := func(*scorev1.StagedFile) {}
	library := func(f *scorev1.StagedFile) { f.Kind = scorev1.StagedKind_STAGED_KIND_LIBRARY }
	data := func(f *scorev1.StagedFile) { f.Name, f.Kind = "data", scorev1.StagedKind_STAGED_KIND_FILE }
	if err := checkStagedFiles([]*scorev1.StagedFile{file(same), file(library), file(data)}); err != nil {
		t.Error(err)
	}
	for want, files := range map[string][]*scorev1.StagedFile{
		"is not a valid name": {file(func(f *scorev1.StagedFile) { f.Name = "../a" })},
		"cannot be called":    {file(func(f *scorev1.StagedFile) { f.Name = "lib" })},
		"two staged files":    {file(same), file(func(f *scorev1.StagedFile) { f.Kind = scorev1.StagedKind_STAGED_KIND_FILE })},
		"digest":              {file(func(f *scorev1.StagedFile) { f.Sha256 = f.Sha256[1:] })},
		"more than 64 GiB":    {file(func(f *scorev1.StagedFile) { f.Size = api.MaxStagedBytes }), file(data)},
		"is unknown":          {file(func(f *scorev1.StagedFile) { f.Kind = 99 })},
		"2 programs":          {file(same), file(func(f *scorev1.StagedFile) { f.Name = "b.out" })},
		"holds a NUL":         {file(func(f *scorev1.StagedFile) { f.Name = "a\x00b" })},
		"at most 256":         make([]*scorev1.StagedFile, api.MaxStagedFiles+1),
	} {
		if err := checkStagedFiles(files); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// Who sends files begins again if the node is lost, and not if it refuses them.
func TestNotStaged(t *testing.T) {
	lost := notStaged("n1", connect.NewError(connect.CodeCanceled, errors.New("http2: client conn is closed")))
	if connect.CodeOf(lost) != connect.CodeUnavailable || !strings.Contains(lost.Error(), "the connection to node n1 was lost") {
		t.Errorf("a node that is lost: %v", lost)
	}
	if err := notStaged("n1", expiredAgent(t)); !errors.Is(err, leader.ErrState) || !strings.Contains(err.Error(), "expired 2 hours ago") {
		t.Errorf("a node whose certificate has expired: %v", err)
	}
	refused := notStaged("n1", connect.NewWireError(connect.CodeResourceExhausted, errors.New("no room")))
	if !errors.Is(refused, leader.ErrState) || !strings.Contains(refused.Error(), "node n1 does not take the job's files: no room") {
		t.Errorf("a node that refuses: %v", refused)
	}
}

// A node without a connection is named, in a list of all nodes' files and where it is the only one.
func TestStagedFilesOfNodesWithoutAConnection(t *testing.T) {
	c := newCluster(t)
	c.join("n1", nil)
	c.join("n2", nil).leave()
	await.That(t, "n2 is not connected", func() bool {
		nodes, err := c.service.ListNodes(t.Context(), connect.NewRequest(&scorev1.ListNodesRequest{}))
		return err == nil && slices.ContainsFunc(nodes.Msg.GetNodes(), func(n *scorev1.Node) bool {
			return n.GetName() == "n2" && n.GetState() == scorev1.NodeState_NODE_STATE_SILENT
		})
	})
	list := func(node string) (*connect.Response[scorev1.ListStagedResponse], error) {
		return c.jobs.ListStaged(t.Context(), connect.NewRequest(&scorev1.ListStagedRequest{Node: node}))
	}
	reply, err := list("")
	if err != nil {
		t.Fatal(err)
	}
	if got := reply.Msg; len(got.GetStaged()) != 1 || got.GetStaged()[0].GetNode() != "n1" || len(got.GetSilent()) > 0 ||
		!slices.Equal(got.GetUnconnected(), []string{"n2"}) {
		t.Errorf("all nodes: %v", got)
	}
	if reply, err := list("n1"); err != nil || len(reply.Msg.GetUnconnected()) > 0 {
		t.Errorf("a connected node: %v, %v", reply, err)
	}
	if _, err := list("n2"); connect.CodeOf(err) != connect.CodeFailedPrecondition || !strings.Contains(err.Error(), "node n2 is not connected; ") {
		t.Errorf("a node that is not connected: %v", err)
	}
	if _, err := list("n3"); connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("no such node: %v", err)
	}
}

// ListStaged implements PeerServiceHandler: every agent keeps one file.
func (a *fakeAgent) ListStaged(context.Context, *connect.Request[scorev1.ListStagedRequest]) (*connect.Response[scorev1.ListStagedResponse], error) {
	return connect.NewResponse(&scorev1.ListStagedResponse{Staged: []*scorev1.Staged{{Files: 1}}}), nil
}
