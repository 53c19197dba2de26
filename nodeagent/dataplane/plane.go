package dataplane

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"score/channels/handover"
	"score/channels/link"
	"score/channels/node"
	"score/ctxswitch"
	"score/scored/api/agentpb"
	"strings"
	"sync"

	"go.uber.org/zap"
)

// ErrClosed: the plane was closed.
var ErrClosed = errors.New("the agent stops")

// Options are the options of Open.
type Options struct {
	// Address is the directory's address. Other nodes know it as the agent's TCP address: the
	// directory has the UDP port of the same number.
	Address netip.AddrPort
	// Socket is the ranks' socket: a path in a directory in which nobody else can create names, or
	// an abstract name that begins with @. The socket of a dead agent at the path is replaced.
	Socket string
	// Cluster and ClusterKey are the secrets from which the jobs' keys are derived.
	Cluster, ClusterKey string
	// Anywhere means that nodes may be on other hosts; otherwise their addresses must be on
	// loopback.
	Anywhere bool
	Logger   *zap.Logger
	// Channels is the number of contexts that may be on the network at once; the leader places jobs
	// by it.
	Channels int
	// Link is the transport of datagrams between nodes, and TIPCType the type of the cluster's
	// names.
	Link     link.Transport
	TIPCType uint32
	// Left is called when a node of a job has left the link's network: the node, or the path to it,
	// may be lost. It must not wait. It may be nil.
	Left func(node string)
	// Identity is unique to this cluster, so that it notices others with the same TIPCType.
	Identity []byte
	// Unseen is called once if nodes of a job have not appeared on the link's network. It must not
	// wait. It may be nil.
	Unseen func(job uint64, nodes []string)
	// Raise gives the driving thread real-time priority; nil: it has none.
	Raise func() error
	// Connected is called for a job's first context with peers on other nodes; Stepped, at the end
	// of a step that Network.Order began. If they are nil, jobs are not switched. Neither may wait.
	Connected func(job uint64, network Network)
	Stepped   func(job uint64, step ctxswitch.Step, outcome *node.Outcome)
}

// Plane is the data plane of one agent. Its methods may be called from several goroutines.
type Plane struct {
	options  Options
	node     *node.Node
	socket   string
	listener *net.UnixListener
	tasks    sync.WaitGroup
	end      sync.Once
	failure  error

	mu     sync.Mutex
	closed bool
	// jobs holds this node's jobs by their steward's pid; every rank is a child of its steward.
	jobs map[int]*Job
	// leaving holds jobs that have left but whose contexts still exist.
	leaving map[*Job]bool
}

// Open binds the directory and listens for ranks; Serve answers them. The error wraps
// unix.EADDRINUSE if another process has the directory's port.
func Open(o Options) (*Plane, error) {
	faults, err := link.FaultsFromEnvironment()
	if err != nil {
		return nil, err
	}
	p := &Plane{options: o, jobs: map[int]*Job{}, leaving: map[*Job]bool{}, socket: o.Socket}
	p.node, err = node.Open(node.Config{
		Address: o.Address, Link: o.Link, TIPCType: o.TIPCType, Mark: link.MarkOf(o.Identity),
		Left: p.left, Unseen: p.unseen, Faults: faults, Log: p.log, Raise: o.Raise,
		Channels: o.Channels,
		Resident: max(node.DefaultResident, rowsKept*o.Channels),
	})
	if err != nil {
		if o.Link == link.UDP {
			err = fmt.Errorf("the UDP port of its directory: %w", err)
		}
		return nil, err
	}
	if p.listener, err = listen(p.socket); err != nil {
		return nil, errors.Join(fmt.Errorf("the node cannot listen for ranks: %w", err), p.node.Close())
	}
	return p, nil
}

// listen listens for ranks of all users. It replaces a socket at the path atomically, so that a
// rank always finds one of the two. The path outlives the listener, for ranks that wait for the
// next agent.
func listen(socket string) (*net.UnixListener, error) {
	if strings.HasPrefix(socket, "@") {
		return handover.Listen(socket)
	}
	fresh := socket + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	listener, err := handover.Listen(fresh)
	if err != nil {
		return nil, err
	}
	listener.SetUnlinkOnClose(false)
	const everybody = 0o666 // the kernel identifies who connects
	err = os.Chmod(fresh, everybody)
	if err == nil {
		err = os.Rename(fresh, socket)
	}
	if err != nil {
		return nil, errors.Join(err, listener.Close(), os.Remove(fresh))
	}
	return listener, nil
}

// Serve begins to answer ranks. Earlier connections wait until then, so that the jobs of a former
// agent can be added first.
func (p *Plane) Serve() { p.tasks.Go(p.accept) }

// Socket returns the address that ranks dial (handover.Dial).
func (p *Plane) Socket() string { return p.socket }

// Totals returns the counts of the plane's work so far.
func (p *Plane) Totals() node.Totals { return p.node.Totals() }

// Spares keeps a job's contexts for the next agent.
type Spares struct {
	// Keep is called with each context before a rank gets it (node.JobConfig.Keep); nil: contexts
	// are not kept.
	Keep func(node.Spare) error
	// Kept are the contexts of a former agent. The plane takes the files over.
	Kept []node.Spare
}

// Add adds a job with a place on this node; steward is the process that starts its ranks. It waits
// until an earlier job of the same number is gone.
func (p *Plane) Add(ctx context.Context, order *agentpb.Prepare, steward int, spares Spares) (*Job, error) {
	if err := p.awaitGone(ctx, order.GetJobId()); err != nil {
		return nil, err
	}
	secret, err := secretOf(order, p.options.ClusterKey)
	if err != nil {
		return nil, err
	}
	key := jobKey(secret, p.options.Cluster, order.GetJobId())
	where, err := p.placesOf(order, key)
	if err != nil {
		return nil, err
	}
	j := newJob(p, order, steward)
	config := node.JobConfig{
		Key:      key,
		Ranks:    j.ranks,
		Places:   where,
		Channels: givenChannels(order),
		Keep:     spares.Keep,
		Kept:     spares.Kept,
	}
	if j.handle, err = p.node.Add(p.withSwitching(config, j.id)); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed // the node removes it
	}
	p.jobs[steward] = j
	return j, nil
}

// rowsKept is the number of rows of the gang matrix whose contexts fit into a node's memory for
// them: the default number of rows.
const rowsKept = 8

// givenChannels returns the number of channels of each rank of the job.
func givenChannels(order *agentpb.Prepare) int {
	if n := order.GetSpec().GetChannelsPerTask(); n > 0 {
		return int(min(n, node.MaxChannels))
	}
	return node.NoChannels
}

func (p *Plane) awaitGone(ctx context.Context, id uint64) error {
	for {
		earlier := p.find(id)
		if earlier == nil {
			return nil
		}
		select {
		case <-earlier.gone:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// find returns a job that is here or leaving, nil if there is none.
func (p *Plane) find(id uint64) *Job {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, j := range p.jobs {
		if j.id == id {
			return j
		}
	}
	for j := range p.leaving {
		if j.id == id {
			return j
		}
	}
	return nil
}

// Close ends all jobs' contexts and waits until they are removed. It may be called repeatedly.
func (p *Plane) Close() error {
	p.end.Do(func() { p.failure = p.close() })
	return p.failure
}

func (p *Plane) close() error {
	p.mu.Lock()
	p.closed = true
	for _, j := range p.jobs {
		j.leaveLocked(0)
	}
	for j := range p.leaving {
		j.overLocked()
	}
	p.mu.Unlock()
	err := p.listener.Close()
	p.tasks.Wait()
	return errors.Join(err, p.node.Close())
}

// log implements node.Config.Log. A job's key is secret, so the line has its number instead.
func (p *Plane) log(event string, key uint64, rank uint32, err error) {
	fields := []zap.Field{zap.String("event", event), zap.Uint32("rank", rank), zap.Error(err)}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, j := range p.jobs {
		if j.handle.Key() == key {
			fields = append(fields, zap.Uint64("job", j.id))
		}
	}
	p.options.Logger.Warn("trouble with a job's channels", fields...)
}

// Contexts returns the present number of contexts.
func (p *Plane) Contexts() int { return p.node.Contexts() }
