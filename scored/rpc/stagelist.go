package rpc

import (
	"context"
	"errors"
	"score/scored/api/scorev1"
	"slices"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
)

// listStagedPatience bounds a node's answer about the files that it keeps or removes.
const listStagedPatience = 10 * time.Second

// ListStaged implements JobServiceHandler. It asks all connected nodes at once.
func (u users) ListStaged(ctx context.Context, r *connect.Request[scorev1.ListStagedRequest]) (*connect.Response[scorev1.ListStagedResponse], error) {
	caller := callerOf(ctx)
	if r.Msg.GetAll() && caller.Role < scorev1.Role_ROLE_OPERATOR {
		return nil, connect.NewError(connect.CodePermissionDenied, errors.New("only operators and administrators may do that for all users"))
	}
	peers, err := u.Leader.Peers(ctx, r.Msg.GetNode())
	if err != nil {
		return nil, err
	}
	reply := &scorev1.ListStagedResponse{Unconnected: peers.Unconnected}
	var mu sync.Mutex
	var asking sync.WaitGroup
	for node, address := range peers.Addresses {
		asking.Go(func() {
			staged, err := u.listStagedOn(ctx, node, address, r.Msg, caller.UID)
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

func (u users) listStagedOn(ctx context.Context, node, address string, r *scorev1.ListStagedRequest, uid uint32) ([]*scorev1.Staged, error) {
	ctx, cancel := context.WithTimeout(ctx, listStagedPatience)
	defer cancel()
	ask := connect.NewRequest(&scorev1.ListStagedRequest{Clear: r.GetClear(), All: r.GetAll(), Uid: uid})
	reply, err := u.agentTaking(node, address, maxStageMessage).ListStaged(ctx, ask)
	if err != nil {
		return nil, err
	}
	return reply.Msg.GetStaged(), nil
}
