package leader

import (
	"fmt"
	"score/gang"
	"score/scored/api"
	"score/scored/api/agentpb"
	"score/scored/api/environ"
	"score/scored/api/scorev1"
	"slices"

	"google.golang.org/protobuf/proto"
)

// childSpec returns the parent's spec with the requested programs. own is the environment beyond
// the parent's.
func childSpec(parent *job, apps []*agentpb.SpawnApp) (spec *scorev1.JobSpec, own []string, err error) {
	if len(apps) == 0 {
		return nil, nil, fmt.Errorf("%w: spawn names no program", ErrInvalid)
	}
	tasks := uint64(0)
	for _, app := range apps {
		if app.GetProgram() == "" {
			return nil, nil, fmt.Errorf("%w: spawn names no program", ErrInvalid)
		}
		tasks += uint64(app.GetTasks())
	}
	if tasks == 0 || tasks > gang.MaxTasks {
		return nil, nil, fmt.Errorf("%w: spawn asks for %d processes", ErrInvalid, tasks)
	}
	app := apps[0]
	spec = proto.CloneOf(parent.listed)
	spec.Name = api.JobName(app.GetProgram())
	spec.Argv, spec.SearchPath = argv(app), ""
	spec.Env = parent.spec.GetEnv()
	spec.Limits = parent.spec.GetLimits()
	spec.Staged = stagedForChild(spec.GetStaged(), apps)
	spec.Tasks, spec.Nodes, spec.NodeList = uint32(tasks), 0, nodesOf(apps)
	spec.Commands = commandsOf(apps)
	if len(spec.Commands) == 0 {
		spec.SearchPath = app.GetPath()
		own = app.GetEnv()
		spec.Env = environ.Override(spec.Env, own)
		if app.GetWorkDir() != "" {
			spec.WorkDir = app.GetWorkDir()
		}
	}
	spec.CpusPerTask, spec.MemoryPerNodeBytes = 1, 0
	spec.Exclusive, spec.Oversubscribe = false, true
	spec.Hold, spec.Dependencies = false, nil
	spec.Stdin, spec.StdinPattern = scorev1.StdinMode_STDIN_MODE_NONE, ""
	spec.TimeLimitNanos, spec.WarnSignal, spec.WarnNanos = 0, 0, 0 // the child ends with the parent, and gets its signals
	return spec, own, nil
}

// commandsOf returns the commands of a job; none if all ranks run the first.
func commandsOf(apps []*agentpb.SpawnApp) []*scorev1.Command {
	if len(apps) == 1 {
		return nil
	}
	commands := make([]*scorev1.Command, len(apps))
	for i, app := range apps {
		commands[i] = &scorev1.Command{
			Tasks: app.GetTasks(), Argv: argv(app), Env: app.GetEnv(), WorkDir: app.GetWorkDir(), SearchPath: app.GetPath(),
		}
	}
	return commands
}

// nodesOf returns the nodes that any of the commands shall run on.
func nodesOf(apps []*agentpb.SpawnApp) []string {
	var names []string
	for _, app := range apps {
		for _, host := range app.GetHosts() {
			if !slices.Contains(names, host) {
				names = append(names, host)
			}
		}
	}
	return names
}

func argv(app *agentpb.SpawnApp) []string {
	return append([]string{app.GetProgram()}, app.GetArgs()...)
}
