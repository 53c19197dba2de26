package nodeagent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"score/nodeagent/agentdir"
	"score/nodeagent/peers"
	"score/nodeagent/stewardpool"
	"score/nodeagent/userproxy"
	"score/scored/api/agentpb/agentpbconnect"
	"score/scored/api/identity/access"
	"score/scored/api/transport/h2"
	"score/scored/api/transport/handshake"
	"sync"
	"time"

	"go.uber.org/zap"
)

// stopTimeout is how long the processes of all jobs may take to end when the agent stops; the
// kernel takes milliseconds.
const stopTimeout = 5 * time.Second

// serve runs the parts of the agent, and stops each part before the parts that it needs.
func (a *Agent) serve(ctx context.Context, listener net.Listener, orphans []*stewardpool.Orphan) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	forced, force := context.WithCancel(context.Background())
	defer force()
	a.running = ctx
	a.jobs = a.newJobs(forced)

	// The switching thread must answer until the last job has ended.
	var thread, parts sync.WaitGroup
	threadCtx, stopThread := context.WithCancel(context.Background())
	thread.Go(func() { a.switcher.Run(threadCtx) })
	thread.Go(func() { a.jobs.HandleNotices(threadCtx.Done()) })
	a.jobs.Adopt(orphans) // before anybody can ask for them
	a.plane.Serve()

	servers := a.startParts(ctx, cancel, &parts, listener)
	a.log.Info("agent runs", zap.String("address", a.address), zap.Int("cpus", len(a.cpuIDs)), zap.Strings("notes", a.notes))
	if a.options.Serving != nil {
		a.options.Serving()
	}
	<-ctx.Done()

	// Stop the sources of orders first, then the jobs, then what the jobs need.
	parallel(servers, func(s *http.Server) { _ = s.Close() })
	parts.Wait()
	reason := context.Cause(ctx)
	leaves := errors.Is(reason, ErrLeave)
	if leaves {
		a.dirs.Stop() // the jobs that go on wait for the next agent
	} else {
		a.jobs.ForgetAll()
	}
	a.awaitWorkers(force)
	stopThread()
	thread.Wait()
	a.closeParts(leaves)
	a.log.Info("agent has stopped", zap.Bool("jobs_go_on", leaves))
	if leaves || errors.Is(reason, context.Canceled) || errors.Is(reason, context.DeadlineExceeded) {
		return nil
	}
	return reason
}

// startParts starts the sources of orders and what acts for the node as a whole. parts counts them;
// they end with ctx and with the returned servers.
func (a *Agent) startParts(ctx context.Context, cancel context.CancelCauseFunc, parts *sync.WaitGroup, listener net.Listener) []*http.Server {
	forAgents, forMetrics := a.newServer(a.agentsHandler()), a.newServer(a.metricsHandler())
	parts.Go(func() { serveAt(forAgents, a.encryptedListener(listener), cancel) })
	parts.Go(func() { a.serveMetrics(ctx, forMetrics, cancel) })
	parts.Go(func() { a.pool.Run(ctx) })
	parts.Go(func() { a.sendReports(ctx) })
	parts.Go(func() { a.idle.Run(ctx) })
	parts.Go(func() { a.watcher.Run(ctx) })
	if a.options.Credentials != nil {
		parts.Go(func() { a.renewCertificate(ctx) })
		a.serveUsers(ctx, parts)
	}
	parts.Go(func() {
		if err := a.link.Run(ctx); err != nil {
			cancel(a.explainRemoval(err))
		}
	})
	return []*http.Server{forAgents, forMetrics}
}

// agentsHandler returns the handler for calls of servers and other agents.
func (a *Agent) agentsHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(agentpbconnect.NewPeerServiceHandler(peerService{a.jobs.PeerService(), a.files, a.options.Name}, peers.HandlerOptions()...))
	return access.Guard(mux)
}

// closeParts closes what the jobs needed. If the agent leaves its jobs to the next agent,
// closeParts keeps what that agent needs.
func (a *Agent) closeParts(leaves bool) {
	if leaves {
		a.jobs.Leave() // before the files by which jobs are frozen and thawed are closed
	}
	a.peers.Close()
	a.closePlane()
	closing, done := context.WithTimeout(context.Background(), stopTimeout)
	defer done()
	if err := a.pool.Close(closing); err != nil && !leaves {
		a.log.Error("something of a job is left", zap.Error(err))
	}
	if !leaves {
		a.dirs.SweepFiles(nil)
		a.workers.Wait()
		agentdir.ForgetAddress(a.options.RunDir)
	}
}

// ErrLeave as the cause of the end of Run's context lets the jobs run on for the next agent.
var ErrLeave = errors.New("the agent makes way for another")

// serveUsers forwards calls of the host's users to the servers.
func (a *Agent) serveUsers(ctx context.Context, parts *sync.WaitGroup) {
	if a.options.UserSocket == "" {
		return
	}
	proxy := userproxy.New(userproxy.Options{
		Socket: a.options.UserSocket, Credentials: a.options.Credentials, Servers: a.link, Logger: a.log,
	})
	parts.Go(func() { proxy.Run(ctx) })
}

func (a *Agent) newServer(handler http.Handler) *http.Server {
	server := h2.NewServer(handler)
	server.ErrorLog, _ = zap.NewStdLogAt(handshake.Sampled(a.log), zap.DebugLevel) // the level exists
	return server
}

// serveAt serves until the server is closed. If serving fails, the agent stops.
func serveAt(server *http.Server, listener net.Listener, cancel context.CancelCauseFunc) {
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		cancel(fmt.Errorf("serving at %s: %w", listener.Addr(), err))
	}
}

// awaitWorkers waits for the goroutines that act for jobs. After stopTimeout it ends the stewards
// by force, and all removing; the next agent's sweep removes what is left then.
func (a *Agent) awaitWorkers(force func()) {
	timer := time.AfterFunc(stopTimeout, func() {
		force()
		a.dirs.Stop()
	})
	defer timer.Stop()
	a.workers.Wait()
}

// parallel calls f for all elements at once, and waits for all calls.
func parallel[T any](all []T, f func(T)) {
	var calls sync.WaitGroup
	for _, v := range all {
		calls.Go(func() { f(v) })
	}
	calls.Wait()
}
