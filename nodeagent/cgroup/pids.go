package cgroup

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// findPids finds the hierarchy that counts processes: the v2 tree, else a v1 hierarchy.
func (r *Root) findPids(m mounts, name string, have func(dir string) error) {
	controllers, err := os.ReadFile(filepath.Join(m.v2, "cgroup.controllers"))
	if err == nil && slices.Contains(strings.Fields(string(controllers)), "pids") && r.enable(m.v2, "pids") {
		r.pidsV2 = true
		return
	}
	if m.v1Pids == "" || unwritable(m.v1Pids) != "" {
		return
	}
	if dir := filepath.Join(m.v1Pids, name); have(dir) == nil {
		r.pidsDir = dir
	}
}

// LimitProcesses bounds the processes and threads of all groups together, so that jobs leave the
// host some. The error is ErrNoPidsControl if no controller counts processes.
func (r *Root) LimitProcesses(maxProcesses uint64) error {
	dir := r.pidsDir
	if r.pidsV2 {
		dir = r.dir
	}
	if dir == "" {
		return ErrNoPidsControl
	}
	r.processes = maxProcesses
	return writeFile(dir, "pids.max", strconv.FormatUint(maxProcesses, 10))
}

// LimitProcesses bounds the processes and threads of the group; 0 removes the bound. A fork beyond
// it fails with EAGAIN. The error is ErrNoPidsControl if no controller counts processes.
func (g *Group) LimitProcesses(maxProcesses uint32) error {
	dir, own := g.dir, uint64(0)
	switch {
	case g.pidsV2:
	case g.pidsDir != "":
		dir, own = g.pidsDir, 1 // the thread that starts the ranks
	default:
		return ErrNoPidsControl
	}
	text := "max"
	if maxProcesses > 0 {
		text = strconv.FormatUint(uint64(maxProcesses)+own, 10)
	}
	return writeFile(dir, "pids.max", text)
}

// ThreadDirs returns the job's groups in version 1 hierarchies. They count only processes that a
// thread in them starts, since version 1 has no CLONE_INTO_CGROUP. The thread that starts the ranks
// must be in them (launch.Forker.Join), and must leave them before Close.
func (g *Group) ThreadDirs() []string { return present(g.memDir, g.pidsDir) }
