// Package access has the table of the methods that daemons may call, and enforces it. What users
// may call is in scored/rpc, because it depends on their roles in the servers' state and on the
// owner of the job.
package access

import (
	"context"
	"fmt"
	"net/http"
	"score/scored/api/agentpb/agentpbconnect"
	"score/scored/api/identity/pki"

	"connectrpc.com/connect"
)

// daemons has, for each method of the services between daemons, the roles that may call it. Nobody
// may call a method that is not here.
var daemons = map[string][]pki.Role{
	// Served by servers. An agent speaks only for the node in its certificate, which the methods
	// compare.
	agentpbconnect.AgentServiceConnectProcedure:          {pki.Agent},
	agentpbconnect.AgentServiceRenewCertificateProcedure: {pki.Agent, pki.Server},
	agentpbconnect.AgentServiceFindLeaderProcedure:       {pki.Agent},
	// Served by servers, for each other.
	agentpbconnect.ServerServiceEnrolProcedure:    {pki.Server},
	agentpbconnect.ServerServiceAdmitProcedure:    {pki.Server},
	agentpbconnect.ServerServiceGetDiskProcedure:  {pki.Server},
	agentpbconnect.ServerServiceDescribeProcedure: {pki.Server},
	// Served by agents, for servers, which have checked the owner of the job.
	agentpbconnect.PeerServiceStdioProcedure:         {pki.Server},
	agentpbconnect.PeerServiceConfirmOutputProcedure: {pki.Server},
	agentpbconnect.PeerServicePaceOutputProcedure:    {pki.Server},
	agentpbconnect.PeerServiceDumpProcedure:          {pki.Server},
	agentpbconnect.PeerServicePutStagedProcedure:     {pki.Server},
	agentpbconnect.PeerServiceListStagedProcedure:    {pki.Server},
	// Served by agents, for other agents: for jobs that are on both nodes, which the methods
	// compare.
	agentpbconnect.PeerServiceCollectProcedure:     {pki.Agent},
	agentpbconnect.PeerServiceGossipProcedure:      {pki.Agent},
	agentpbconnect.PeerServiceRelayProcedure:       {pki.Agent},
	agentpbconnect.PeerServiceFetchStagedProcedure: {pki.Agent},
	// Served by agents, for those that watch them: it shows only that they live.
	agentpbconnect.PeerServiceProbeProcedure: {pki.Agent},
}

// guard is in front of services between daemons.
type guard struct {
	next   http.Handler
	refuse *connect.ErrorWriter
}

// Guard passes calls that the table allows, and refuses others before it reads anything of them.
func Guard(next http.Handler) http.Handler {
	return &guard{next: next, refuse: connect.NewErrorWriter()}
}

// ServeHTTP implements http.Handler.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	caller, err := g.check(r)
	if err != nil {
		_ = g.refuse.Write(w, r, err) // the caller may be gone
		return
	}
	g.next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, caller)))
}

type callerKey struct{}

// CallerOf returns the daemon whose call Guard has passed.
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
