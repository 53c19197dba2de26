package state

import (
	"fmt"
	"score/scored/api/scorev1"

	"google.golang.org/protobuf/proto"
)

const (
	// maxKeptArguments bounds the bytes of a finished job's arguments. A job may have MiB of them,
	// and every server keeps the finished jobs in memory and in its snapshots.
	maxKeptArguments = 8 << 10
	// argumentCost is what an argument takes beside its bytes.
	argumentCost = 16
	// maxKeptCommands bounds the commands of a finished job whose commands are longer than that.
	maxKeptCommands = 64
)

// finishedSpec returns the spec that is kept of a job that has ended: what its user needs to
// recognize it.
func finishedSpec(spec *scorev1.JobSpec) *scorev1.JobSpec {
	kept := withoutEnvironment(spec)
	kept.Argv = clipArguments(kept.GetArgv(), maxKeptArguments)
	if len(kept.GetSearchPath()) > maxKeptArguments {
		kept.SearchPath = ""
	}
	kept.Commands = clipCommands(kept.GetCommands())
	return kept
}

// clipCommands shortens commands that are longer than maxKeptArguments together. It may change the
// commands.
func clipCommands(commands []*scorev1.Command) []*scorev1.Command {
	size := 0
	for _, c := range commands {
		size += proto.Size(c)
	}
	if size <= maxKeptArguments {
		return commands
	}
	commands = commands[:min(len(commands), maxKeptCommands)]
	for _, c := range commands {
		c.Env, c.SearchPath = nil, ""
		c.Argv = clipArguments(c.GetArgv(), maxKeptArguments/len(commands))
	}
	return commands
}

// clipArguments returns the beginning of arguments that take more than limit bytes; the last one
// then says how many are missing.
func clipArguments(arguments []string, limit int) []string {
	size := 0
	for _, a := range arguments {
		size += len(a) + argumentCost
	}
	if size <= limit {
		return arguments
	}
	var kept []string
	missing := 0 // bytes
	for _, a := range arguments {
		n := 0
		if limit > 0 {
			n = min(len(a), max(limit-argumentCost, 0))
			kept = append(kept, string([]byte(a[:n]))) // a copy: the rest is not kept in memory
			limit -= n + argumentCost
		}
		missing += len(a) - n
	}
	return append(kept, fmt.Sprintf("... (%d more arguments, %d bytes)", len(arguments)-len(kept), missing))
}
