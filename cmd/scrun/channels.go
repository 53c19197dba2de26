package main

import (
	"score/cmd/scrun/fabric"
	"score/cmd/scrun/linked"
	"score/cmd/scrun/options"
	"score/nodeagent/launch"
	"strings"
)

// countChannels returns the number of channels of each rank: the user's choice, or one if package
// pm is linked into the program or into a program whose path is among the arguments.
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
	for i, program := range argv[:min(len(argv), fabric.MaxExamined)] {
		if i > 0 && !strings.Contains(program, "/") {
			continue // an option or a number; a search for each would take long
		}
		if found, err := launch.Resolve(program, dir, path, nil); err == nil && linked.PM(found) {
			return true
		}
	}
	return false
}
