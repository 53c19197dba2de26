package node

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"score/channels/abi"
	"score/channels/handover"
	"score/channels/link"
	"score/channels/rankmap"
	"slices"
	"sync"
)

const (
	// MaxChannels bounds the contexts of one rank.
	MaxChannels = handover.Channels
	// DefaultResident bounds the contexts of a node: two for each processor of a
	// large one, in two rows of the gang matrix, and 2,048 descriptors.
	DefaultResident = 1024
	// removedKeys is how many removed jobs the directory remembers: those of some
	// minutes, while others may still ask.
	removedKeys = 4096
)

// Errors of the package.
var (
	// ErrClosed: the node was closed, or the job removed.
	ErrClosed = errors.New("node: closed")
	// ErrJob: not a job that this node can have.
	ErrJob = errors.New("node: not a usable job")
	// ErrResident: the node has as many contexts as it may, or the job as many as it may have of
	// them.
	ErrResident = errors.New("node: no more contexts on this node for the job")
	// ErrNotGiven: the job was not given as many channels; see JobConfig.Channels.
	ErrNotGiven = errors.New("node: the job was not given as many channels")
	// ErrContext: there is no such context here.
	ErrContext = errors.New("node: no such context")
)

// Config is the configuration of a node.
type Config struct {
	// Address is the directory's: UDP, the daemons' channel. The contexts' sockets have
	// the same IP address and ports that the kernel chooses. Not valid: this node is
	// the only one of its jobs.
	Address netip.AddrPort
	// Link is what carries datagrams between nodes. With TIPC the directory has a name, and
	// Address is only looked at for whether there are other nodes.
	Link link.Transport
	// TIPCType is the type of the cluster's names with TIPC; 0: tipc.DefaultType. Mark is the
	// cluster's (link.MarkOf), by which two clusters with the same type notice each other.
	TIPCType, Mark uint32
	// Unseen is called once if names of a job's nodes have not appeared some time after the job got
	// a context with peers on other nodes. It must not wait. It may be nil.
	Unseen func(job uint64, nodes []uint32)
	// Left is called with a job's key when the directory of one of its nodes is gone from the
	// network: that node, or the way to it, may be lost. Only TIPC reports this. It must not wait.
	// It may be nil.
	Left func(job uint64, node uint32)
	// Geometry of the contexts; what is zero gets its default, and the ranks are the job's.
	Geometry abi.Geometry
	// Resident bounds the contexts; 0: DefaultResident.
	Resident int
	// Channels is how many contexts with peers on other nodes may be resident at once, as long as
	// the jobs that are on were given no more; 0: no bound.
	Channels int
	// Raise gives the calling thread, which drives and for which switches wait, real-time priority.
	// If it is nil or fails, the thread has none, which suffices while no other program computes.
	Raise func() error
	// Faults is what the agent's ports do to datagrams that leave.
	Faults link.Faults
	// Log is called once for each context with which something went wrong. It may be called from
	// several goroutines and must not call the node. It may be nil.
	Log func(event string, job uint64, rank uint32, err error)
}

// Node is this node's part of the data plane. Its methods may be called from several goroutines.
type Node struct {
	config Config
	loop   *loop
	shares shares

	end     sync.Once
	failure error

	mu      sync.Mutex
	closed  bool
	jobs    map[uint64]*Job
	removed keys
}

// Open binds the directory and starts the goroutine that drives.
func Open(config Config) (*Node, error) {
	if config.Resident <= 0 {
		config.Resident = DefaultResident
	}
	n := &Node{config: config, shares: shares{max: config.Resident}, jobs: map[uint64]*Job{}}
	l, err := newLoop(n)
	if err != nil {
		return nil, fmt.Errorf("node: %w", err)
	}
	n.loop = l
	return n, nil
}

// Directory is where the directory listens; not valid without one, or with TIPC.
func (n *Node) Directory() netip.AddrPort { return n.loop.directory.at }

// NoChannels in JobConfig.Channels gives the ranks none.
const NoChannels = -1

// JobConfig describes a job that comes to the node.
type JobConfig struct {
	// Key names the job in frames; not zero, and known to its ranks and the daemons only.
	Key uint64
	// Ranks of this node, ascending. Nil: those that Places has here.
	Ranks []uint32
	// Places is where the job's ranks are; nil: all of them are here.
	Places *rankmap.Map
	// Channels is how many channels each rank may have, besides channel 0; 0: MaxChannels. The
	// scheduler bounds the sum over the jobs that are on the network together.
	Channels int
	// Connected is called when the job gets its first context with peers on other nodes: from now
	// on a switch concerns it. It must not wait, and may use the job only with Order. It may be
	// nil.
	Connected func(*Job)
	// Keep stores each new context, for the Kept of a node that comes after this one. Nobody gets
	// the context, or learns where it is, before Keep returns nil. It may wait. If it is nil,
	// contexts end with the node.
	Keep func(Spare) error
	// Kept are contexts that a node before this one has made. They come back as their processes and
	// peers know them. The files become the job's, also if Add fails.
	Kept []Spare
	// Done is called with the outcome of a step that Order ordered, by the goroutine that drives:
	// it must not wait.
	Done func(Outcome)
}

// Add makes a job known. Its contexts are made when somebody asks for them. The errors
// are ErrJob, ErrClosed, that of a geometry (abi.ErrGeometry), and the system's.
func (n *Node) Add(config JobConfig) (*Job, error) {
	j, err := newJob(n, config)
	if err != nil {
		return nil, err
	}
	if err := n.enter(j); err != nil {
		return nil, errors.Join(err, j.close(j.list()))
	}
	j.addRestored()
	return j, nil
}

func (n *Node) enter(j *Job) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return ErrClosed
	}
	if n.jobs[j.key] != nil {
		return fmt.Errorf("%w: its key is another's", ErrJob)
	}
	if err := n.loop.publish(j); err != nil {
		return err
	}
	n.jobs[j.key] = j
	n.removed.drop(j.key)
	return nil
}

// leave forgets a job, all but its key.
func (n *Node) leave(j *Job) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.jobs[j.key] == j {
		n.loop.withdraw(j)
		delete(n.jobs, j.key)
		n.removed.add(j.key)
	}
}

// job finds a job; ended says that it was here.
func (n *Node) job(key uint64) (j *Job, ended bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.jobs[key], n.removed.has(key)
}

// list returns the jobs of the node, by key.
func (n *Node) list() []*Job {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.SortedFunc(maps.Values(n.jobs), func(a, b *Job) int { return cmp.Compare(a.key, b.key) })
}

// Close removes all jobs at once and ends the goroutine. It may be called again.
func (n *Node) Close() error {
	n.end.Do(func() { n.failure = n.close() })
	return n.failure
}

func (n *Node) close() error {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	var errs []error
	for _, j := range n.list() {
		errs = append(errs, j.Remove(0))
	}
	return errors.Join(append(errs, n.loop.close())...)
}

func (n *Node) log(event string, job uint64, rank uint32, err error) {
	if n.config.Log != nil {
		n.config.Log(event, job, rank, err)
	}
}
