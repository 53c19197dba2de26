package nodeagent

import (
	"os"

	"go.uber.org/zap"

	"score/nodeagent/filetransfer"
	"score/nodeagent/launch"
	"score/nodeagent/mpidirs"
	"score/nodeagent/stewardpool"
)

// filesPrefix begins the names of this agent's jobs' directories in the places that
// are everybody's.
func (a *Agent) filesPrefix() string {
	return mpidirs.Prefix(a.options.Cluster, a.options.Name, a.options.RunDir)
}

// filesIn is the name that the order to an orphan has got; empty: none of this agent's.
func (a *Agent) filesIn(o *stewardpool.Orphan) string {
	name := o.Status.GetOrder().GetFiles()
	if mpidirs.Job(a.filesPrefix(), name) == 0 {
		return ""
	}
	return name
}

// nameFiles gives the job a name for its ranks' directories. The steward makes them,
// and removes them if it lives so long.
func (j *job) nameFiles() string {
	name := mpidirs.Name(j.agent.filesPrefix(), j.id)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.files = name
	return name
}

// dropFiles removes what the job's ranks and its steward have left, once no process
// of the job is there.
func (j *job) dropFiles() {
	j.mu.Lock()
	name := j.files
	j.files = ""
	j.mu.Unlock()
	j.agent.removeFiles(name, j.order.GetUser().GetUid())
	j.agent.removeSegments(filetransfer.User(j.order.GetUser()))
}

// removeSegments removes the shared memory that MPI libraries of a user's killed ranks have left.
func (a *Agent) removeSegments(user *launch.User) {
	if err := mpidirs.RemoveSegments(user); err != nil {
		a.log.Warn("shared memory of a job could not be removed", zap.Error(err))
	}
}

// removeFiles removes the directories of a name. An agent that is not root's has all ranks
// run as its own user.
func (a *Agent) removeFiles(name string, uid uint32) {
	if name == "" {
		return
	}
	if euid := os.Geteuid(); euid != 0 {
		uid = uint32(euid)
	}
	if err := mpidirs.Remove(name, uid); err != nil {
		a.log.Warn("files of a job could not be removed", zap.Error(err))
	}
}

// sweepFiles removes what ended jobs have left, of this agent's and of those before it in
// its run directory. Those of the orphans stay.
func (a *Agent) sweepFiles(orphans []*stewardpool.Orphan) {
	held := make(map[string]bool, len(orphans))
	for _, o := range orphans {
		held[a.filesIn(o)] = true
	}
	removed, err := mpidirs.Sweep(a.filesPrefix(), func(name string) bool { return held[name] })
	if err != nil {
		a.log.Warn("files of ended jobs could not be removed", zap.Error(err))
	}
	if removed > 0 {
		a.log.Info("removed files that ended jobs had left", zap.Int("directories", removed))
	}
}
