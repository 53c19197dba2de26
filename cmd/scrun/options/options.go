package options

import (
	"errors"
	"fmt"
	"math"
	"score/cmd/cmdline"
	"score/cmd/scrun/fabric"
	"score/scored/api"
	"score/scored/api/plural"
	"score/scored/api/scorev1"
	"time"
)

// DetachedPattern is the default file for a detached job's output.
const DetachedPattern = "score-%j.out"

// Options is one valid command line.
type Options struct {
	Tasks         uint32
	Nodes         uint32
	TasksPerNode  uint32 // 0: any; complete takes it into Tasks and Nodes
	CPUsPerTask   uint32
	Time          time.Duration   // 0: no limit
	Warning       cmdline.Warning // before that
	Name          string
	Dir           string
	Memory        uint64 // bytes per node; 0: the cluster's default
	Priority      int32
	Exclusive     bool
	Oversubscribe bool
	Export        Export
	Hosts         []string
	Excluded      []string // nodes
	Distribution  scorev1.Distribution
	KillOnBadExit bool
	MPI           scorev1.MpiMode
	Exchange      scorev1.ExchangeMode
	Channels      Channels    // that each rank may open
	Fabric        fabric.Wish // whether programs that use libfabric get channels
	// KillOnDeadlock ends the job when its ranks wait for each other and nothing else can wake
	// them.
	KillOnDeadlock bool
	// Hold submits the job held; Dependencies are jobs that must start or end first.
	Hold         bool
	Dependencies []*scorev1.Dependency
	// Array submits a job for each index.
	Array cmdline.Array
	// Requeue restarts the job when one of its nodes is lost or drained.
	Requeue bool
	// Recover continues the job when ranks or nodes are lost; Respawn is how often a failed rank is
	// restarted.
	Recover bool
	Respawn uint32

	Label      bool
	Unbuffered bool
	Stdin      Stream
	Stdout     Stream
	Stderr     Stream
	Detach     bool
	// PTY gives rank 0 a terminal of its own.
	PTY bool
	// Stage and StageFiles name the files that are copied to the nodes.
	Stage      Stage
	StageFiles []string
	stageFile  string // the last of them, as it was typed
	// TraceStart prints the phases of the job's start when it has ended.
	TraceStart bool

	Cluster string
	// Patience is the wait for a cluster that cannot answer; 0: the default.
	Patience time.Duration
	Verbose  bool
	Quiet    bool
	Version  bool

	// Argv is the program and its arguments.
	Argv []string

	// tasksGiven and oversubscribeGiven report whether the user gave the option.
	tasksGiven         bool
	oversubscribeGiven bool

	// input, output and errors are -i, -o and -e as they were typed.
	input, output, errors string
}

// complete fills in defaults and checks the options in combination.
func (o *Options) complete() error {
	if err := o.completeSize(); err != nil {
		return err
	}
	if o.Version {
		return nil
	}
	switch {
	case len(o.Argv) == 0 || o.Argv[0] == "":
		return errors.New("name the program to run: scrun [options] program [arguments]; 'scrun --help' explains")
	case o.Nodes > o.Tasks:
		return fmt.Errorf("%d nodes need at least %d ranks, -n asks for %d", o.Nodes, o.Nodes, o.Tasks)
	case o.Nodes > 0 && uint64(o.Tasks) > uint64(o.Nodes)*api.MaxRanksPerNode:
		return fmt.Errorf("at most %d ranks run on a node: %d need %d nodes or more, -N asks for %d", api.MaxRanksPerNode, o.Tasks, nodesFor(o.Tasks), o.Nodes)
	case o.Nodes > 0 && len(o.Hosts) > int(o.Nodes):
		return fmt.Errorf("-w names %d nodes, -N asks for %d", len(o.Hosts), o.Nodes)
	case o.Warning.Signal != 0 && o.Time == 0:
		return errors.New("--signal sends a signal before the time limit, and the job has none: give one with --time")
	case o.Warning.Signal != 0 && o.Warning.Before >= o.Time:
		return fmt.Errorf(
			"--signal asks for a signal %v before the time limit, which is %v; give the seconds behind an @: --signal TERM@10",
			o.Warning.Before,
			o.Time,
		)
	case o.Exclusive && o.oversubscribeGiven && o.Oversubscribe:
		return errors.New("--exclusive and --oversubscribe exclude each other")
	case o.Requeue && (o.Recover || o.Respawn > 0):
		return errors.New("--requeue restarts the whole job, --recover and --respawn let it continue: use one of them")
	case o.IsArray() && !o.Detach:
		return errors.New("--array submits several jobs, and scrun follows one: submit them with --detach")
	case o.Detach && o.TraceStart:
		return errors.New("--trace-start prints when the job has ended, and --detach does not wait for that; use 'scored job show'")
	}
	if err := o.checkFabric(); err != nil {
		return err
	}
	return o.completeStreams()
}

// completeSize fills in the number of ranks and, with --ntasks-per-node, of nodes. The cluster
// spreads ranks evenly over as many nodes as -N asks for, so no node gets more than that.
func (o *Options) completeSize() error {
	perNode := o.TasksPerNode
	switch {
	case perNode > api.MaxRanksPerNode:
		return fmt.Errorf("--ntasks-per-node %d: at most %d ranks run on a node", perNode, api.MaxRanksPerNode)
	case perNode > 0 && o.Nodes == 0 && o.tasksGiven:
		o.Nodes = max(nodesWith(o.Tasks, perNode), uint32(len(o.Hosts)))
	case perNode > 0 && o.Nodes == 0:
		o.Nodes = max(1, uint32(len(o.Hosts)))
	}
	room := uint64(o.Nodes) * uint64(max(1, perNode))
	switch {
	case perNode > 0 && o.tasksGiven && uint64(o.Tasks) > room:
		return fmt.Errorf("-n asks for %d ranks; with --ntasks-per-node %d there is room for %d on %s",
			o.Tasks, perNode, room, plural.Of(o.Nodes, "node", "nodes"))
	case o.tasksGiven:
		return nil
	case room > math.MaxUint32:
		return fmt.Errorf("%d nodes with --ntasks-per-node %d: no cluster has room for %d ranks", o.Nodes, perNode, room)
	}
	o.Tasks = max(1, uint32(room))
	return nil
}

// nodesFor returns how many nodes the ranks need at least.
func nodesFor(tasks uint32) uint32 { return nodesWith(tasks, api.MaxRanksPerNode) }

// nodesWith returns how many nodes the ranks need with so many on each.
func nodesWith(tasks, perNode uint32) uint32 { return (tasks + perNode - 1) / perNode }

// Spec returns the job for the cluster, as submitted from a process like here.
func (o *Options) Spec(here Process) (*scorev1.JobSpec, error) {
	dir, err := here.directory(o.Dir)
	if err != nil {
		return nil, err
	}
	spec := &scorev1.JobSpec{
		Name:               o.jobName(),
		Argv:               o.Argv,
		Env:                o.Export.Apply(here.Environ),
		WorkDir:            dir,
		Tasks:              o.Tasks,
		Nodes:              o.Nodes,
		CpusPerTask:        o.CPUsPerTask,
		MemoryPerNodeBytes: o.Memory,
		ChannelsPerTask:    o.Channels.PerRank,
		Priority:           o.Priority,
		Exclusive:          o.Exclusive,
		Oversubscribe:      o.Oversubscribe,
		CpuEach:            o.oversubscribeGiven && !o.Oversubscribe,
		TimeLimitNanos:     int64(o.Time),
		WarnSignal:         o.Warning.Signal,
		WarnNanos:          int64(o.Warning.Before),
		Limits:             here.Limits,
		Umask:              here.Umask,
		Mpi:                o.MPI,
		Exchange:           o.Exchange,
		Distribution:       o.Distribution,
		KillOnBadExit:      o.KillOnBadExit,
		KillOnDeadlock:     o.KillOnDeadlock,
		Requeue:            o.Requeue,
		Recover:            o.Recover,
		Respawn:            o.Respawn,
		NodeList:           o.Hosts,
		ExcludeList:        o.Excluded,
		Hold:               o.Hold,
		Dependencies:       o.Dependencies,
	}
	o.setInput(spec, dir)
	if o.Detach {
		o.setDetached(spec, dir)
	}
	return spec, nil
}

func (o *Options) jobName() string {
	if o.Name != "" {
		return o.Name
	}
	return api.JobName(o.Argv[0])
}
