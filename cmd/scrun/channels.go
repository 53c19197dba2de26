package main

import (
	"score/cmd/scrun/fabric"
	"score/cmd/scrun/linked"
	"score/cmd/scrun/options"
	"score/nodeagent/launch"
	"score/scored/api/scorev1"
	"strings"
)

// maxLooked bounds the arguments that are looked at: wrappers (env, timeout, numactl, a
// script) name their program among the first.
const maxLooked = 16

// network is what scrun found out about the messages of a job's program.
type network struct {
	channels options.Channels // that each rank gets
	choice   fabric.Choice
	dir      string   // the libraries of the fabric, if it is used
	settings []string // parameters that the user's own files set
	err      error    // what the user asked for cannot be had
}

// inspectProgram looks at the program beside the dialling, which takes longer. The nodes say it if
// there is no such program; it may be there only.
func inspectProgram(o *options.Options, here options.Process) <-chan network {
	found := make(chan network, 1)
	go func() {
		n := network{channels: countChannels(o, here)}
		n.chooseFabric(o, here)
		if n.choice.Use {
			n.channels.PerRank = max(n.channels.PerRank, 1)
		}
		found <- n
	}()
	return found
}

// countChannels returns how many channels each rank is to have: what the user said, else one if the
// program has package pm, or one that is named by its path among the arguments, for the program
// to start.
func countChannels(o *options.Options, here options.Process) options.Channels {
	if o.Channels.Given {
		return o.Channels
	}
	var found options.Channels
	dir, path := o.Where(here)
	if path == "" {
		path = launch.DefaultPath
	}
	if anyLinked(o.Argv, dir, path) {
		found.PerRank = 1
	}
	return found
}

// chooseFabric decides whether the ranks' MPI library uses channels.
func (n *network) chooseFabric(o *options.Options, here options.Process) {
	if !o.Fabric.Depends() && !o.Verbose {
		return
	}
	dir, path := o.Where(here)
	env := o.Export.Apply(here.Environ)
	n.settings = fabric.Settings(variable(env, "HOME"))
	n.choice, n.err = fabric.Choose(fabric.Request{
		Wish: o.Fabric, Program: fabric.Inspect(o.Argv, dir, path, variable(env, "LD_LIBRARY_PATH")),
		Nodes: max(int(o.Nodes), len(o.Hosts)), Chosen: fabric.Chosen(env, n.settings),
	})
	if n.choice.Use {
		n.dir, n.err = fabric.Find(fabric.Here())
	}
}

// apply sets the job's environment so that its ranks use what was chosen, and says, with -v, what
// that is.
func (n *network) apply(messages messenger, spec *scorev1.JobSpec) {
	if !n.choice.Use {
		if n.choice.Why != "" {
			messages.note("no channels for MPI: %s", n.choice.Why)
		}
		return
	}
	var kept []string
	spec.Env, kept = fabric.Environ(spec.GetEnv(), n.dir, n.settings)
	messages.note("MPI uses channels, by the libraries in %s: %s", n.dir, n.choice.Why)
	if len(kept) > 0 {
		messages.note("set by you, and kept: %s", strings.Join(kept, ", "))
	}
}

func variable(env []string, name string) (found string) {
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			found = value
		}
	}
	return found
}

func anyLinked(argv []string, dir, path string) bool {
	for i, program := range argv[:min(len(argv), maxLooked)] {
		if i > 0 && !strings.Contains(program, "/") {
			continue // an option, a number; a search for each would take long
		}
		if found, err := launch.Resolve(program, dir, path, nil); err == nil && linked.PM(found) {
			return true
		}
	}
	return false
}
