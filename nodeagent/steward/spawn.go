package steward

import (
	"fmt"
	"os"
	"path/filepath"
	"score/nodeagent/pmi"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/agentpb"
	"slices"
	"strings"
)

func (j *job) spawnMessage(rank int, spawn *pmi.SpawnRequest) *stewardpb.FromSteward {
	request := &agentpb.SpawnRequest{JobId: j.id, Request: spawn.ID, Preput: spawn.Preput}
	dir := j.directory(uint32(rank))
	for i := range spawn.Apps {
		request.Apps = append(request.Apps, j.spawnApp(&spawn.Apps[i], dir))
	}
	return &stewardpb.FromSteward{Message: &stewardpb.FromSteward_Spawn{Spawn: request}}
}

// directory returns a rank's present working directory if the kernel shows it, else its first one.
func (j *job) directory(rank uint32) string {
	if r := &j.ranks[j.local[rank]]; r.process != nil && r.exited == nil {
		dir, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", r.pid()))
		if err == nil && filepath.IsAbs(dir) {
			return dir
		}
	}
	return j.commands[j.app(rank)].dir
}

// spawnApp translates the hints that hydra also honours (wdir, path, host), and ignores others. A
// relative path of a program, or of its directory, starts at dir, the directory of the rank that
// spawns it.
func (j *job) spawnApp(app *pmi.SpawnApp, dir string) *agentpb.SpawnApp {
	program := app.Command
	if strings.Contains(program, "/") {
		program = startingAt(dir, program)
	}
	out := &agentpb.SpawnApp{
		Program: program, Args: app.Args, Tasks: uint32(app.MaxProcs), Env: j.ownEnv(app.Env), WorkDir: dir,
	}
	for _, hint := range app.Info {
		switch hint.Key {
		case "wdir":
			out.WorkDir = startingAt(dir, hint.Value)
		case "path":
			out.Path = hint.Value
		case "host", "hosts":
			out.Hosts = append(out.Hosts, strings.Split(hint.Value, ",")...)
		}
	}
	return out
}

func startingAt(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// onChildEnded notifies registered ranks that a job which they have spawned has ended.
func (s *steward) onChildEnded(m *agentpb.ChildEnded) {
	if s.endpoint() != nil && s.job.speaksPMIx() {
		s.applyPMIx(s.job.pmix.server.JobEnded(s.now(), m.GetChildJob(), int(m.GetExitCode())))
	}
}

// ownEnv removes the variables that this steward has set for its ranks: Open MPI passes its own
// variables on to processes that it spawns, which may be on another node.
func (j *job) ownEnv(env []string) []string {
	if j.pmix == nil {
		return env
	}
	set := j.pmix.environ(nil, j, int(j.ranks[0].rank))
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool { return slices.Contains(set, v) })
}
