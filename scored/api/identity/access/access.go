// Package access has the table of the methods that daemons may call of each other, and enforces it.
// What users may call is in scored/rpc, because it depends on their roles in the servers' state and
// on the owner of the job.
package access

import (
	"context"
	"fmt"
	"net/http"
	"score/scored/api/identity/pki"
	"score/scored/api/scorev1/scorev1connect"

	"connectrpc.com/connect"
)

// daemons has, for each method of the services between daemons, the roles that may call it. A
// method that is not here nobody may call.
var daemons = map[string][]pki.Role{
	// Of servers. An agent speaks for the node in its certificate alone, which the methods compare.
	scorev1connect.AgentServiceConnectProcedure:          {pki.Agent},
	scorev1connect.AgentServiceRenewCertificateProcedure: {pki.Agent, pki.Server},
	scorev1connect.AgentServiceFindLeaderProcedure:       {pki.Agent},
	// Of servers, for each other.
	scorev1connect.ServerServiceEnrolProcedure:    {pki.Server},
	scorev1connect.ServerServiceAdmitProcedure:    {pki.Server},
	scorev1connect.ServerServiceGetDiskProcedure:  {pki.Server},
	scorev1connect.ServerServiceDescribeProcedure: {pki.Server},
	// Of agents, to servers: they have compared whose job it is.
	scorev1connect.PeerServiceStdioProcedure:         {pki.Server},
	scorev1connect.PeerServiceConfirmOutputProcedure: {pki.Server},
	scorev1connect.PeerServicePaceOutputProcedure:    {pki.Server},
	scorev1connect.PeerServiceDumpProcedure:          {pki.Server},
	scorev1connect.PeerServicePutStagedProcedure:     {pki.Server},
	scorev1connect.PeerServiceListStagedProcedure:    {pki.Server},
	// Of agents, to other agents: of jobs that are on both nodes, which the methods compare.
	scorev1connect.PeerServiceCollectProcedure:     {pki.Agent},
	scorev1connect.PeerServiceGossipProcedure:      {pki.Agent},
	scorev1connect.PeerServiceRelayProcedure:       {pki.Agent},
	scorev1connect.PeerServiceFetchStagedProcedure: {pki.Agent},
	// Of agents, to those that watch them: it tells no more than that they live.
	scorev1connect.PeerServiceProbeProcedure: {pki.Agent},
}

// guard is in front of services between daemons.
type guard struct {
	next   http.Handler
	refuse *connect.ErrorWriter
}

// Guard lets those calls pass that the table allows, and refuses others before anything of them is
// read.
func Guard(next http.Handler) http.Handler {
	return &guard{next: next, refuse: connect.NewErrorWriter()}
}

// ServeHTTP implements http.Handler.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	caller, err := g.check(r)
	if err != nil {
		_ = g.refuse.Write(w, r, err) // who has gone need not be told
		return
	}
	g.next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, caller)))
}

type callerKey struct{}

// CallerOf is the daemon whose call Guard has let pass.
func CallerOf(ctx context.Context) (caller pki.Name, ok bool) {
	caller, ok = ctx.Value(callerKey{}).(pki.Name)
	return caller, ok
}

func (g *guard) check(r *http.Request) (caller pki.Name, err error) {
	roles, known := daemons[r.URL.Path]
	if !known {
		return caller, connect.NewError(connect.CodePermissionDenied, fmt.Errorf("no daemon may call %.100q", r.URL.Path))
	}
	if caller, err = pki.PeerOf(r.TLS); err != nil {
		return caller, connect.NewError(connect.CodeUnauthenticated, err)
	}
	if err := caller.Is(roles...); err != nil {
		return caller, connect.NewError(connect.CodePermissionDenied, err)
	}
	return caller, nil
}
