package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"

	"score/scored/api/scorev1"
	"score/scored/api/scorev1/scorev1connect"
	"score/scored/leader"
)

const (
	// maxStaged bounds the files that go along with a job: a program of more libraries has other troubles.
	maxStaged = 256
	// maxStagedBytes bounds them together: more is a data set, which belongs on a file system.
	maxStagedBytes = 64 << 30
	// sumBytes is the length of a SHA-256 digest.
	sumBytes = 32
	// maxStageMessage bounds a message of files: a client sends a quarter of a MiB.
	maxStageMessage = 1 << 20
	// listStagedPatience is how long a node may take to say what it keeps, or to remove it.
	listStagedPatience = 10 * time.Second
)

// checkStaged refuses files that cannot go along.
func checkStaged(s *scorev1.JobSpec) error {
	if len(s.GetStaged()) == 0 {
		return nil
	}
	if err := checkText("the node with the job's files", s.GetStageSeed(), maxName); err != nil {
		return err
	}
	return checkStagedFiles(s.GetStaged())
}

func checkStagedFiles(files []*scorev1.StagedFile) error {
	if len(files) > maxStaged {
		return invalid("%d files cannot go along with a job; at most %d can", len(files), maxStaged)
	}
	total, programs, names := uint64(0), 0, make(map[string]bool)
	for _, f := range files {
		library := f.GetKind() == scorev1.StagedKind_STAGED_KIND_LIBRARY
		place := fmt.Sprintf("%v/%s", library, f.GetName())
		if err := checkText("the name of a file that goes along", f.GetName(), maxName); err != nil {
			return err
		}
		switch {
		case f.GetName() == "" || f.GetName() == "." || f.GetName() == ".." || strings.Contains(f.GetName(), "/"):
			return invalid("%q is no name for a file that goes along", clip(f.GetName()))
		case !library && f.GetName() == "lib":
			return invalid("a file that goes along cannot be called lib, where the libraries are; rename it")
		case names[place]:
			return invalid("two files that go along are called %q; rename one", clip(f.GetName()))
		case len(f.GetSha256()) != sumBytes:
			return invalid("the digest of %q has %d bytes, not %d", clip(f.GetName()), len(f.GetSha256()), sumBytes)
		case f.GetSize() > maxStagedBytes || total+f.GetSize() > maxStagedBytes:
			return invalid("the files that go along take more than %d GiB; leave large ones on a file system that the nodes share", maxStagedBytes>>30)
		case scorev1.StagedKind_name[int32(f.GetKind())] == "":
			return invalid("kind %d of a file is unknown", f.GetKind())
		}
		names[place] = true
		total += f.GetSize()
		if f.GetKind() == scorev1.StagedKind_STAGED_KIND_PROGRAM {
			programs++
		}
	}
	if programs > 1 {
		return invalid("%d programs go along, and a job executes one", programs)
	}
	return nil
}

type stageStream = connect.BidiStream[scorev1.StageRequest, scorev1.StageReply]

// Stage implements JobServiceHandler: it carries the files to a node's agent. Nothing is kept here, so a slow node
// makes the client wait.
func (u users) Stage(ctx context.Context, stream *stageStream) error {
	identity, err := identityOf(ctx)
	if err != nil {
		return err
	}
	first, err := stream.Receive()
	if err != nil {
		return err
	}
	files := first.GetFiles()
	if files == nil || len(files.GetFiles()) == 0 {
		return invalid("the first message must name the files that go along")
	}
	if err := checkStagedFiles(files.GetFiles()); err != nil {
		return err
	}
	node, address, err := u.Leader.StageSeed(ctx, identity.GetUid(), files.GetNodeList())
	if err != nil {
		return err
	}
	files.User = identity
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	peer := u.peer(address).PutStaged(ctx)
	peer.RequestHeader().Set(authorization, bearer+u.ClusterKey)
	if err := peer.Send(first); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: node %s does not take the job's files: %s", leader.ErrState, node, messageOf(err))
	}
	// The client's data go on beside the node's answers. It ends when this function has returned, since that
	// closes the request.
	go func() {
		for {
			m, err := stream.Receive()
			if err != nil || m.GetFiles() != nil || peer.Send(m) != nil {
				_ = peer.CloseRequest() // the node then misses what was to come, and says so
				return
			}
		}
	}()
	for {
		reply, err := peer.Receive()
		if err != nil {
			return fmt.Errorf("%w: node %s does not take the job's files: %s", leader.ErrState, node, messageOf(err))
		}
		reply.Node = node
		if err := stream.Send(reply); err != nil || reply.GetWhole() {
			_ = peer.CloseResponse() // that was its last
			return err
		}
	}
}

func (u users) peer(address string) scorev1connect.PeerServiceClient {
	return scorev1connect.NewPeerServiceClient(u.Agents, u.AgentScheme+"://"+address,
		connect.WithAcceptCompression("gzip", nil, nil), connect.WithReadMaxBytes(maxStageMessage))
}

// ListStaged implements JobServiceHandler: it asks all nodes at once.
func (u users) ListStaged(ctx context.Context, r *connect.Request[scorev1.ListStagedRequest]) (*connect.Response[scorev1.ListStagedResponse], error) {
	caller := callerOf(ctx)
	if r.Msg.GetAll() && caller.Role < scorev1.Role_ROLE_OPERATOR {
		return nil, connect.NewError(connect.CodePermissionDenied, errors.New("only operators and administrators may do that for all users"))
	}
	addresses, err := u.Leader.PeerAddresses(ctx, r.Msg.GetNode())
	if err != nil {
		return nil, err
	}
	reply := &scorev1.ListStagedResponse{}
	var mu sync.Mutex
	var asking sync.WaitGroup
	for node, address := range addresses {
		asking.Go(func() {
			staged, err := u.listStagedOn(ctx, address, r.Msg, caller.UID)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				reply.Silent = append(reply.Silent, node)
			}
			for _, s := range staged {
				s.Node, s.User = node, userName(s.GetUid())
				reply.Staged = append(reply.Staged, s)
			}
		})
	}
	asking.Wait()
	slices.Sort(reply.Silent)
	slices.SortFunc(reply.Staged, func(a, b *scorev1.Staged) int {
		if byNode := strings.Compare(a.GetNode(), b.GetNode()); byNode != 0 {
			return byNode
		}
		return int(int64(a.GetUid()) - int64(b.GetUid()))
	})
	return connect.NewResponse(reply), nil
}

func (u users) listStagedOn(ctx context.Context, address string, r *scorev1.ListStagedRequest, uid uint32) ([]*scorev1.Staged, error) {
	ctx, cancel := context.WithTimeout(ctx, listStagedPatience)
	defer cancel()
	ask := connect.NewRequest(&scorev1.ListStagedRequest{Clear: r.GetClear(), All: r.GetAll(), Uid: uid})
	ask.Header().Set(authorization, bearer+u.ClusterKey)
	reply, err := u.peer(address).ListStaged(ctx, ask)
	if err != nil {
		return nil, err
	}
	return reply.Msg.GetStaged(), nil
}
