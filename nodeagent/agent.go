package nodeagent

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"score/nodeagent/agentdir"
	"score/nodeagent/dataplane"
	"score/nodeagent/filetransfer"
	"score/nodeagent/idlewatch"
	"score/nodeagent/jobdirs"
	"score/nodeagent/jobs"
	"score/nodeagent/metrics"
	"score/nodeagent/mpidirs"
	"score/nodeagent/neighbours"
	"score/nodeagent/peers"
	"score/nodeagent/realtime"
	"score/nodeagent/staging"
	"score/nodeagent/stewardpool"
	"score/nodeagent/switcher"
	"score/nodeagent/timekeeper"
	"score/nodeagent/uplink"
	"score/scored/api"
	"score/scored/api/agentpb"
	"score/scored/api/identity/pki"
	"score/scored/api/protocol"
	"score/scored/api/transport/h2"
	"slices"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"
)

// Agent is the agent of one node. Make it with New and run it once.
type Agent struct {
	options     Options
	log         *zap.Logger
	credentials *pki.Credentials // Options.Credentials, or what follows from the key
	servers     *http.Client
	bootID      string   // tells this run from an earlier one
	socket      string   // the name of the ranks' socket
	cpuIDs      []uint32 // options.CPUs
	notes       []string // what the node lacks
	address     string   // where servers and other agents reach it

	jobs     *jobs.Jobs // nil before serve
	pool     *stewardpool.Pool
	switcher *switcher.Switcher
	plane    *dataplane.Plane
	clock    *timekeeper.Keeper
	link     *uplink.Link
	peers    *peers.Clients
	files    *filetransfer.Transfers
	dirs     *jobdirs.Dirs
	metrics  *metrics.Metrics
	idle     *idlewatch.Watcher
	guard    *realtime.Guard // nil: no thread may ask for real-time priority
	watcher  *neighbours.Watcher

	metricsProblem atomic.Pointer[string] // why the metrics are not served; nil: they are
	noBearer       atomic.Bool            // the log says so

	// workers counts the goroutines that act for a job. running ends when the agent must stop.
	workers sync.WaitGroup
	running context.Context
}

// New checks the options. It starts nothing and creates no file. Its errors wrap ErrOptions and
// name the configuration key at fault.
func New(options Options) (*Agent, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	own := options.Credentials
	if own == nil {
		if own, err = pki.FromKey(options.ClusterKey, pki.Name{Cluster: options.Cluster, Role: pki.Agent, Name: options.Name}); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrOptions, err)
		}
	}
	boot := make([]byte, 16)
	rand.Read(boot) // never fails
	a := &Agent{
		options:     options,
		log:         options.Logger.With(zap.String("node", options.Name)),
		credentials: own,
		servers:     h2.NewClient(own, pki.Server),
		bootID:      hex.EncodeToString(boot),
		cpuIDs:      make([]uint32, len(options.CPUs)),
	}
	for i, cpu := range options.CPUs {
		a.cpuIDs[i] = uint32(cpu)
	}
	if options.Dial != nil {
		a.servers = h2.NewClientWithDialer(options.Dial, own, pki.Server)
	}
	a.peers = peers.New(own, options.Credentials == nil)
	a.dirs = jobdirs.New(jobdirs.Options{
		JobsDir: options.JobsDir, RunDir: options.RunDir, Logger: a.log, Go: a.workers.Go,
		Prefix: mpidirs.Prefix(options.Cluster, options.Name, options.RunDir),
		Note:   func(note string) { a.notes = append(a.notes, note) },
	})
	a.metrics = metrics.New(options.Name, a.gauges)
	a.clock = timekeeper.New(a.log, func(term uint64, offset int64) { a.switcher.Offset(term, offset) })
	a.link = a.newLink()
	a.idle = a.newIdleWatch()
	a.watcher = neighbours.New(neighbours.Options{Probe: a.peers.Probe, Send: a.link.Send, Logger: a.log})
	return a, nil
}

// Run serves the node until ctx ends. Then it ends every job here, and returns nil once no process,
// control group or socket of the jobs is left. If the cause of ctx's end is ErrLeave, it lets the
// jobs run on instead. Run returns an error of one sentence when the node cannot be served: the
// address is taken, the leader refuses the node, or the cluster key is wrong. The error wraps
// ErrRemoved when the node was removed from the cluster.
func (a *Agent) Run(ctx context.Context) error {
	unlock, err := agentdir.Lock(a.options.RunDir)
	if err != nil {
		return err
	}
	defer unlock()
	if err := a.checkLink(); err != nil {
		return err
	}
	defer a.reduceLatency()()
	raise := a.raise("the switching thread", realtime.SwitchPriority)
	if a.switcher, err = switcher.New(switcher.Options{Raise: raise, Channels: a.options.Channels, Logger: a.log}); err != nil {
		return err
	}
	orphans, err := a.openPool()
	if err != nil {
		return err
	}
	cache, err := a.openFiles(orphans)
	if err != nil {
		_ = a.pool.Close(ctx) // jobs that were found run on without an agent; new stewards end
		return err
	}
	defer cache.Close()
	defer func() {
		a.dirs.Stop()
		a.workers.Wait() // serve has, unless it was not reached
		a.dirs.Close()
	}()
	a.dirs.SweepFiles(orphans)
	listener, err := a.listen(orphans)
	if err != nil {
		_ = a.pool.Close(ctx) // as above
		return fmt.Errorf("the node cannot listen: %w; %s", err, listenAdvice(err))
	}
	defer listener.Close()
	defer a.closePlane() // serve has, unless it was not reached
	a.address = listener.Addr().String()
	a.noteLoopback()
	if err := agentdir.NoteAddress(a.options.RunDir, a.address); err != nil {
		// A full disk keeps no agent from starting; only the next one may have another port.
		a.log.Warn("the agent's address could not be kept for the next agent; make room there", zap.Error(err))
	}
	return a.serve(ctx, listener, orphans)
}

// openFiles opens what jobs have on the node's disks: the cache of their files, and their
// directories.
func (a *Agent) openFiles(orphans []*stewardpool.Orphan) (*staging.Cache, error) {
	cache, err := staging.Open(a.options.StageDir, a.options.StageLimit)
	if err != nil {
		return nil, err
	}
	a.files = filetransfer.New(filetransfer.Options{
		Node: a.options.Name, Cache: cache, Peers: a.peers, Go: a.workers.Go, Logger: a.log,
	})
	if err := a.dirs.Open(orphans); err != nil {
		cache.Close()
		return nil, err
	}
	return cache, nil
}

// Name returns the node's name.
func (a *Agent) Name() string { return a.options.Name }

// Address returns where servers and other agents reach this one, with the port in use. It is known
// once Options.Serving is called.
func (a *Agent) Address() string { return a.address }

// Alive returns nil once the switching thread has answered. It may be called once Options.Serving
// is called.
func (a *Agent) Alive(ctx context.Context) error { return a.switcher.Alive(ctx) }

// noteLoopback notes that the other nodes of the cluster cannot reach this one.
func (a *Agent) noteLoopback() {
	if !onLoopback(a.address) || !slices.ContainsFunc(a.options.Servers, func(server string) bool {
		at, err := url.Parse(server)
		return err == nil && !onLoopback(at.Host)
	}) {
		return
	}
	a.notes = append(a.notes, "other nodes cannot reach this one at "+a.address+", and jobs that use both fail: set agent.listen to an address of the host")
}

func onLoopback(address string) bool { return api.CheckLoopback(address) == nil }

func (a *Agent) hello() *agentpb.Hello {
	hello := &agentpb.Hello{
		Cluster:     a.options.Cluster,
		Node:        a.options.Name,
		Address:     a.address,
		Version:     a.options.Version,
		Cpus:        uint32(len(a.options.CPUs)),
		MemoryBytes: a.options.MemoryBytes,
		Notes:       slices.Clone(a.notes),
		SharesCpus:  a.options.SharesCPUs,
		Channels:    uint32(a.options.Channels),
		Link:        a.linkWord(),
		Bearers:     a.bearers(),
		BootId:      a.bootID,

		FencesByMessage: true,
		ProtocolOldest:  protocol.Own().Oldest, ProtocolNewest: protocol.Own().Newest,
	}
	for _, j := range a.jobs.All() {
		hello.Jobs = append(hello.Jobs, j.ID())
	}
	return hello
}

// problems returns what is wrong on the node now, one sentence for each problem. The agent's log
// has them, too.
func (a *Agent) problems() (sentences []string) {
	if sentence := a.pool.Problem(); sentence != "" {
		sentences = append(sentences, sentence)
	}
	if sentence := a.jobs.Problem(); sentence != "" {
		sentences = append(sentences, sentence)
	}
	sentences = append(sentences, a.linkProblems()...)
	if sentence := a.metricsProblem.Load(); sentence != nil {
		sentences = append(sentences, *sentence)
	}
	return sentences
}

func (a *Agent) gauges() metrics.Gauges {
	estimate, channels := a.clock.Estimate(), a.countChannels()
	return metrics.Gauges{
		Jobs:         a.jobs.Count(),
		WarmStewards: a.pool.Warm(),
		Connected:    a.link.Connected(),
		Channels:     channels,
		ClockOffset:  float64(estimate.Offset) / 1e9,
		ClockError:   estimate.ErrorBound.Seconds(),
		RoundTrip:    estimate.RTT.Seconds(),
	}
}
