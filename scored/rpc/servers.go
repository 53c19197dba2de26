package rpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"score/scored/admission"
	"score/scored/api/agentpb"
	"score/scored/api/identity/pki"
	"score/scored/api/scorev1"
	"score/scored/leader"
	"score/scored/replica"
	"time"

	"connectrpc.com/connect"
)

// Servers are the cluster's servers, see package replica.
type Servers interface {
	Name() string
	Leader() (name, address string)
	LeaderOf() (term uint64, address string)
	LeaderChanged() <-chan struct{}
	Servers() ([]replica.Server, error)
	MayRemove(name string) error
	Remove(name string) error
	StepDown() error
	Disk() (replica.Disk, error)
}

// errAlone is returned in a cluster that can have no other server.
var errAlone = fmt.Errorf("%w; until then it is the cluster's only server", admission.ErrNoAuthority)

// ListServers implements ClusterServiceHandler.
func (u users) ListServers(ctx context.Context, _ *connect.Request[scorev1.ListServersRequest]) (*connect.Response[scorev1.ListServersResponse], error) {
	if u.Servers == nil {
		return nil, errAlone
	}
	list, err := u.Servers.Servers()
	if err != nil {
		return nil, err
	}
	response := new(scorev1.ListServersResponse)
	for _, s := range list {
		view := &scorev1.Server{
			Name: s.Name, Address: s.Address, Voter: s.Voter, Leader: s.Leader,
			BehindEntries: s.Behind, RoundTripNanos: s.RoundTrip.Nanoseconds(),
		}
		if !s.Silent.IsZero() {
			view.SilentNanos = max(1, time.Since(s.Silent).Nanoseconds())
		}
		response.Servers = append(response.Servers, view)
	}
	u.askServers(ctx, response.GetServers())
	return connect.NewResponse(response), nil
}

// RemoveServer implements ClusterServiceHandler. A leader that is to be removed first transfers its
// leadership; the new leader is then asked again.
func (u users) RemoveServer(ctx context.Context, r *connect.Request[scorev1.RemoveServerRequest]) (*connect.Response[scorev1.RemoveServerResponse], error) {
	if u.Servers == nil {
		return nil, errAlone
	}
	name := r.Msg.GetName()
	if name == u.Servers.Name() {
		if err := u.transferLeadership(name); err != nil {
			return nil, err
		}
		return nil, leader.ErrElsewhere
	}
	removed := u.Servers.Remove(name)
	if removed != nil && !errors.Is(removed, replica.ErrUnknownServer) {
		return nil, removed
	}
	// A server that is not a member can have certificates left if the leader that removed it failed
	// half-way. One that never joined with a token and never renewed may have none.
	count, err := u.Leader.RevokeCertificates(ctx, string(pki.Server), name)
	switch {
	case err != nil && !errors.Is(err, leader.ErrInvalid):
		return nil, err
	case removed != nil && count == 0:
		return nil, removed
	}
	// A server that had not known yet that it was a member could enrol again until now.
	if err := u.Servers.Remove(name); err != nil && !errors.Is(err, replica.ErrUnknownServer) {
		return nil, err
	}
	return connect.NewResponse(&scorev1.RemoveServerResponse{}), nil
}

// transferLeadership transfers the leadership to another server, which can then remove this one.
func (u users) transferLeadership(name string) error {
	if err := u.Servers.MayRemove(name); err != nil {
		return err
	}
	return u.Servers.StepDown()
}

// stepDownTimeout bounds StepDown's wait for the name of the next leader.
const stepDownTimeout = 2 * time.Second

// StepDown implements ClusterServiceHandler.
func (u users) StepDown(ctx context.Context, _ *connect.Request[scorev1.StepDownRequest]) (*connect.Response[scorev1.StepDownResponse], error) {
	if u.Servers == nil {
		return nil, errAlone
	}
	if err := u.Servers.StepDown(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, stepDownTimeout)
	defer cancel()
	for {
		changed := u.Servers.LeaderChanged()
		if next, _ := u.Servers.Leader(); next != "" && next != u.Servers.Name() {
			return connect.NewResponse(&scorev1.StepDownResponse{Leader: next}), nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return connect.NewResponse(new(scorev1.StepDownResponse)), nil
		}
	}
}

// Enrol implements ServerServiceHandler.
func (a agents) Enrol(ctx context.Context, r *connect.Request[agentpb.EnrolRequest]) (*connect.Response[agentpb.EnrolResponse], error) {
	name, err := a.server(ctx)
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(r.Msg.GetAddress())
	if err != nil || host == "" || port == "0" || len(r.Msg.GetAddress()) > maxAddress {
		return nil, invalid("%q is no address at which the other servers reach this one; set server.advertise", r.Msg.GetAddress())
	}
	voter, err := a.AddServer(name, r.Msg)
	return respond(&agentpb.EnrolResponse{Voter: voter}, err)
}

// maxAddress bounds an address: a host name of 253 bytes and a port.
const maxAddress = 260

// Admit implements ServerServiceHandler.
func (a agents) Admit(ctx context.Context, r *connect.Request[agentpb.JoinRequest]) (*connect.Response[agentpb.JoinResponse], error) {
	if _, err := a.server(ctx); err != nil {
		return nil, err
	}
	return respond(a.Registrar.Admit(ctx, r.Msg))
}

// Describe implements ServerServiceHandler.
func (a agents) Describe(ctx context.Context, _ *connect.Request[agentpb.DescribeRequest]) (*connect.Response[agentpb.DescribeResponse], error) {
	if _, err := a.server(ctx); err != nil {
		return nil, err
	}
	return connect.NewResponse(&agentpb.DescribeResponse{Program: a.Program}), nil
}

// server returns the name of the calling server.
func (a agents) server(ctx context.Context) (string, error) {
	if a.Servers == nil {
		return "", errAlone
	}
	name, err := daemonOf(ctx)
	if err != nil {
		return "", connect.NewError(connect.CodeUnauthenticated, err)
	}
	if name.Role != pki.Server {
		return "", connect.NewError(connect.CodePermissionDenied, errors.New("only servers may call this method"))
	}
	return name.Name, nil
}
