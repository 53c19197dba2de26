package jobdirs

import (
	"os"
	"path/filepath"
	"score/nodeagent/mpidirs"
	"score/nodeagent/stewardpool"
	"slices"

	"go.uber.org/zap"
)

// filesIn returns the name of an orphan's directories by its order, "" if it has none of this
// agent's.
func (d *Dirs) filesIn(o *stewardpool.Orphan) string {
	name := o.Status.GetOrder().GetFiles()
	if mpidirs.Job(d.options.Prefix, name) == 0 {
		return ""
	}
	return name
}

// removeFiles removes the directories of a name. The ranks of an agent that is not root's have its
// own user.
func (d *Dirs) removeFiles(name string, uid uint32) {
	if name == "" {
		return
	}
	if euid := os.Geteuid(); euid != 0 {
		uid = uint32(euid)
	}
	if err := mpidirs.Remove(d.ctx, name, uid); err != nil {
		d.options.Logger.Warn("files of a job could not be removed", zap.Error(err))
	}
}

// SweepFiles removes, in the background, the files that ended jobs of this agent, and of earlier
// agents in its run directory, have left. The orphans' files stay, and those of later jobs.
func (d *Dirs) SweepFiles(orphans []*stewardpool.Orphan) {
	held := make(map[string]bool, len(orphans))
	for _, o := range orphans {
		held[d.filesIn(o)] = true
	}
	left := slices.DeleteFunc(mpidirs.Find(d.options.Prefix), func(path string) bool { return held[filepath.Base(path)] })
	d.options.Go(func() { d.removeFound(left) })
}

func (d *Dirs) removeFound(paths []string) {
	removed, err := mpidirs.RemoveFound(d.ctx, paths)
	if err != nil {
		d.options.Logger.Warn("files of ended jobs could not be removed", zap.Error(err))
	}
	if removed > 0 {
		d.options.Logger.Info("removed files that ended jobs had left", zap.Int("directories", removed))
	}
}
