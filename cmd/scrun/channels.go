package main

import (
	"score/cmd/scrun/linked"
	"score/cmd/scrun/options"
	"score/nodeagent/launch"
	"strings"
)

// maxExamined bounds the arguments that are examined: wrappers (env, timeout, numactl, a script)
// name their program among the first.
const maxExamined = 16

// countChannels returns the number of channels for each rank: the user's, else one if the program,
// or a program that is named by its path among the arguments, has package pm.
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

func anyLinked(argv []string, dir, path string) bool {
	for i, program := range argv[:min(len(argv), maxExamined)] {
		if i > 0 && !strings.Contains(program, "/") {
			continue // an option, a number; a search for each would take long
		}
		if found, err := launch.Resolve(program, dir, path, nil); err == nil && linked.PM(found) {
			return true
		}
	}
	return false
}
