package nodeagent

import (
	"errors"
	"fmt"
	"os"
	"score/nodeagent/cgroup"
	"score/nodeagent/hostinfo"
	"score/nodeagent/privateipc"
	"score/nodeagent/privateshm"
	"score/nodeagent/stewardpool"

	"go.uber.org/zap"
)

// openPool makes the pool of stewards, and returns the stewards that an earlier agent has left.
func (a *Agent) openPool() (orphans []*stewardpool.Orphan, err error) {
	root, err := a.openRoot()
	if err != nil {
		return nil, err
	}
	var kept []int
	if a.options.KeepToCPUs {
		kept = a.options.CPUs
	}
	shm, ipc := a.privateShm()
	a.pool, orphans, err = stewardpool.Open(stewardpool.Options{
		Exe:     a.options.StewardExe,
		RunDir:  a.options.RunDir,
		Cluster: a.options.Cluster,
		Node:    a.options.Name,
		Root:    root,
		Warm:    a.options.WarmStewards,
		Grace:   a.options.Grace,
		CPUs:    kept,
		Stderr:  os.Stderr,
		Logger:  a.log,

		PrivateShm: shm,
		PrivateIPC: ipc,
	})
	return orphans, err
}

// openRoot makes the node's control group. It returns nil if jobs are stopped by signals.
func (a *Agent) openRoot() (*cgroup.Root, error) {
	if a.options.NoCgroups {
		a.notes = append(a.notes, "control groups are switched off; jobs are stopped by signals, and memory limits are not kept")
		return nil, nil
	}
	root, err := cgroup.OpenRoot(a.options.Cluster, a.options.Name)
	if errors.Is(err, cgroup.ErrUnusable) {
		a.notes = append(a.notes, err.Error()+"; jobs are stopped by signals, and memory limits are not kept")
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if root.Memory() == cgroup.MemoryNone {
		a.notes = append(a.notes, "no memory controller can be used; memory limits are not kept")
	}
	most := hostinfo.NodeProcesses(a.options.MemoryBytes)
	if err := root.LimitProcesses(most); err != nil && !errors.Is(err, cgroup.ErrNoPidsControl) {
		return nil, err
	}
	return root, nil
}

// privateShm reports whether each job gets a /dev/shm, and whether it gets an IPC namespace of its
// own. Without root's rights there are jobs of one user only.
func (a *Agent) privateShm() (shm, ipc bool) {
	if !a.options.PrivateShm {
		return false, false
	}
	err := privateshm.Check()
	for _, dir := range []string{a.options.RunDir, a.options.JobsDir, a.options.StageDir} {
		if err == nil && privateshm.Hides(dir) {
			err = fmt.Errorf("jobs could not see %s", dir)
		}
	}
	if err != nil {
		a.noteShared("/dev/shm, System V memory and message queues", err)
		return false, false
	}
	if !a.options.PrivateIPC {
		return true, false
	}
	if err := privateipc.Check(); err != nil {
		a.noteShared("System V memory and message queues", err)
		return true, false
	}
	return true, true
}

func (a *Agent) noteShared(what string, err error) {
	a.log.Info("jobs share the host's "+what, zap.Error(err))
	if os.Geteuid() == 0 {
		a.notes = append(a.notes, fmt.Sprintf("jobs share the host's %s, which one user can fill for all: %v", what, err))
	}
}
