package main

import (
	"context"
	"os"
	"score/cmd/scrun/fabric"
	"score/cmd/scrun/options"
	"score/scored/api/environ"
	"score/scored/api/scorev1"
	"score/scored/client"
	"strings"

	"connectrpc.com/connect"
	"golang.org/x/sys/unix"
)

// network describes how the ranks of a job exchange messages.
type network struct {
	channels options.Channels // channels of each rank, without those for MPI
	request  fabric.Request
	choice   fabric.Choice
	dir      string   // the libraries of the fabric, if it is used
	settings []string // parameters in the user's own files
	env      []string // the job's environment without the settings for the fabric
}

// inspectProgram examines the program while scrun connects, which takes longer. A missing program
// is not an error here: it may exist only on the nodes, which report a missing one.
func inspectProgram(o *options.Options, here options.Process) <-chan network {
	found := make(chan network, 1)
	go func() {
		n := network{channels: countChannels(o, here)}
		if o.Verbose || !settled(o) {
			n.inspectFabric(o, here)
		}
		found <- n
	}()
	return found
}

// settled reports whether the choice of the network does not depend on the program. A single rank
// has no peer.
func settled(o *options.Options) bool {
	return o.Fabric == fabric.None || o.Fabric == fabric.Auto && o.Tasks == 1
}

// knownNodes returns the number of nodes that the job will use; 0 if it is unknown.
func knownNodes(o *options.Options) int {
	if o.Tasks == 1 {
		return 1
	}
	return max(int(o.Nodes), len(o.Hosts))
}

// inspectFabric finds the facts on which the choice of the MPI library's network depends.
func (n *network) inspectFabric(o *options.Options, here options.Process) {
	dir, path := o.Where(here)
	env := o.Export.Apply(here.Environ)
	n.settings = fabric.Settings(environ.Value(env, "HOME"))
	n.request = fabric.Request{
		Wish: o.Fabric, Program: fabric.Inspect(o.Argv, dir, path, environ.Value(env, "LD_LIBRARY_PATH")),
		Nodes: knownNodes(o), Chosen: fabric.Chosen(env, n.settings), ChosenProvider: fabric.ChosenProvider(env),
		NoChannels: o.Channels.Given && o.Channels.PerRank == 0, AddressSpace: addressSpace(here),
		OwnLibfabric: fabric.OwnLibfabric(env),
	}
}

// addressSpace returns the limit on this process's address space (ulimit -v) in bytes; 0: none.
func addressSpace(here options.Process) uint64 {
	for _, l := range here.Limits {
		if l.GetResource() == unix.RLIMIT_AS && l.GetSoft() != unix.RLIM_INFINITY {
			return l.GetSoft()
		}
	}
	return 0
}

// choose decides whether the ranks' MPI library uses channels. It fails if the user's request
// cannot be met, or if a signal ends the wait for the cluster.
func (n *network) choose(ctx context.Context, o *options.Options, cluster *connection) (err error) {
	if n.request.Undecided() {
		n.request.Nodes, err = unlessInterrupted(ctx, func(ctx context.Context) (int, error) { return nodesFor(ctx, o, cluster), nil })
		if err != nil {
			return err
		}
	}
	if n.choice, err = fabric.Choose(n.request); err != nil || !n.choice.Use {
		return err
	}
	if n.dir, err = fabric.Find(fabric.Here()); err == nil {
		return nil
	}
	if o.Fabric == fabric.PM {
		return err
	}
	n.choice = fabric.Choice{Why: err.Error()}
	return nil
}

// describe chooses the network and returns the description of the job.
func (n *network) describe(
	ctx context.Context, o *options.Options, here options.Process, messages messenger, cluster *connection,
) (*scorev1.JobSpec, error) {
	if err := n.choose(ctx, o, cluster); err != nil {
		return nil, err
	}
	o.Channels = n.channels
	spec, err := o.Spec(here)
	if err != nil {
		return nil, err
	}
	n.apply(messages, spec)
	if o.PTY {
		spec.Terminal = terminalSize(os.Stdin, os.Stdout)
	}
	return spec, nil
}

// nodesFor returns how many nodes the job's ranks will use: 2 means several, because no node has
// CPUs for all of them. If the cluster does not answer, it returns 1; the submission reports the
// error.
func nodesFor(ctx context.Context, o *options.Options, cluster *connection) int {
	reply, err := cluster.Cluster.ListNodes(ctx, connect.NewRequest(&scorev1.ListNodesRequest{}))
	if err != nil || len(reply.Msg.GetNodes()) < 2 {
		return 1
	}
	need := uint64(o.Tasks) * uint64(max(o.CPUsPerTask, 1))
	for _, node := range reply.Msg.GetNodes() {
		if uint64(node.GetCpus()) >= need {
			return 1
		}
	}
	return 2
}

// apply sets the job's environment for the chosen network, and prints the choice with -v.
func (n *network) apply(messages messenger, spec *scorev1.JobSpec) {
	if !n.choice.Use {
		if n.choice.Why != "" {
			messages.note("no channels for MPI: %s", n.choice.Why)
		}
		return
	}
	var kept []string
	program := n.request.Program
	target := fabric.Target{IfAble: n.choice.IfAble, OpenMPI5: program.OpenMPI5, NoWindows: program.NoWindows}
	n.env, spec.ChannelsPerTask = spec.GetEnv(), max(spec.GetChannelsPerTask(), 1)
	spec.Env, kept = fabric.Environ(spec.GetEnv(), n.dir, target, n.settings)
	messages.note("MPI uses channels, by the libraries in %s: %s", n.dir, n.choice.Why)
	if len(kept) > 0 {
		messages.note("set by you, and kept: %s", strings.Join(kept, ", "))
	}
}

// submit submits the job. If the cluster has too few channels, submit tries again without the
// channels that scrun chose by itself.
func (n *network) submit(ctx context.Context, messages messenger, cluster *connection, spec *scorev1.JobSpec) (uint64, error) {
	id, err := cluster.Submit(ctx, spec)
	if !n.choice.Use || n.request.Wish != fabric.Auto || connect.CodeOf(err) != connect.CodeResourceExhausted {
		return id, err
	}
	messages.note("no channels for MPI: %s", client.Sentence(err))
	n.choice = fabric.Choice{}
	spec.Env, spec.ChannelsPerTask = n.env, n.channels.PerRank
	return cluster.Submit(ctx, spec)
}

// setIndex makes spec the job of the array that has this index.
func (n *network) setIndex(o *options.Options, spec *scorev1.JobSpec, index uint32, earlier []uint64) {
	o.SetIndex(spec, index, earlier)
	n.env = options.IndexEnviron(n.env, index)
}
