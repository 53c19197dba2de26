package steward

import (
	"path/filepath"
	"slices"
	"strings"

	"score/nodeagent/pmi"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/scorev1"
)

func (j *job) spawnMessage(spawn *pmi.SpawnRequest) *stewardpb.FromSteward {
	request := &scorev1.SpawnRequest{JobId: j.id, Request: spawn.ID, Preput: spawn.Preput}
	for i := range spawn.Apps {
		request.Apps = append(request.Apps, j.spawnApp(&spawn.Apps[i]))
	}
	return &stewardpb.FromSteward{Message: &stewardpb.FromSteward_Spawn{Spawn: request}}
}

// spawnApp translates the hints that hydra honours too (wdir, path, host);
// others are hints, and not taken. A program that is named by a relative path is
// found from the directory of who spawns it, not from its own.
func (j *job) spawnApp(app *pmi.SpawnApp) *scorev1.SpawnApp {
	program := app.Command
	if strings.Contains(program, "/") && !filepath.IsAbs(program) {
		program = filepath.Join(j.spec.GetWorkDir(), program)
	}
	out := &scorev1.SpawnApp{Program: program, Args: app.Args, Tasks: uint32(app.MaxProcs), Env: j.ownEnv(app.Env)}
	for _, hint := range app.Info {
		switch hint.Key {
		case "wdir":
			out.WorkDir = hint.Value
		case "path":
			out.Path = hint.Value
		case "host", "hosts":
			out.Hosts = append(out.Hosts, strings.Split(hint.Value, ",")...)
		}
	}
	return out
}

// childEnded tells ranks that have asked for it that what they have spawned has left.
func (s *steward) childEnded(m *scorev1.ChildEnded) {
	if s.endpoint() != nil && s.job.speaksPMIx() {
		s.obeyPMIx(s.job.pmix.server.JobEnded(s.now(), m.GetChildJob(), int(m.GetExitCode())))
	}
}

// ownEnv leaves out what this steward has set in its ranks' environment: Open MPI
// hands all that is for Open MPI on to what it spawns, which may be on another node.
func (j *job) ownEnv(env []string) []string {
	if j.pmix == nil {
		return env
	}
	set := j.pmix.environ(nil, j, int(j.ranks[0].rank))
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool { return slices.Contains(set, v) })
}
