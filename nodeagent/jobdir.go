package nodeagent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"score/nodeagent/launch"
	"score/nodeagent/stewards"
	"score/nodeagent/userfs"
	"score/scored/api/scorev1"
)

const (
	// dirVariable tells ranks the directory that their job has on the node for
	// itself, for files that need not outlive it.
	dirVariable = "SCORE_JOB_DIR"
	// dirsMode lets users reach the directories of their jobs, and list nobody's.
	dirsMode = 0o711
)

// dirs is where the directories of the jobs are. It is beside the run
// directory, which is the agent's alone.
func (a *Agent) dirs() string { return a.options.RunDir + ".jobs" }

// dirIn is the directory that an order to prepare has got; empty: none. The
// order may come back from a steward.
func (a *Agent) dirIn(order *scorev1.Prepare) string {
	for _, v := range order.GetSpec().GetEnv() {
		if dir, ok := strings.CutPrefix(v, dirVariable+"="); ok && filepath.Dir(dir) == a.dirs() {
			return dir
		}
	}
	return ""
}

// openDirs makes the place for the jobs' directories, and removes what ended
// jobs of a former agent have left there.
func (a *Agent) openDirs(orphans []*stewards.Orphan) error {
	if err := os.Mkdir(a.dirs(), dirsMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("making the place for the jobs' directories: %w; name another run_dir", err)
	}
	// The mask of the agent's process may have taken bits away.
	if err := os.Chmod(a.dirs(), dirsMode); err != nil {
		return fmt.Errorf("the jobs' directories cannot be in %s: %w; name another run_dir", a.dirs(), err)
	}
	entries, err := os.ReadDir(a.dirs())
	if err != nil {
		return fmt.Errorf("looking for directories of former jobs: %w", err)
	}
	held := make(map[string]bool, len(orphans))
	for _, o := range orphans {
		held[a.dirIn(o.Status.GetOrder().GetJob())] = true
	}
	for _, entry := range entries {
		// Ranks of the jobs that go on look for the socket until this agent listens there.
		if dir := filepath.Join(a.dirs(), entry.Name()); !held[dir] && entry.Name() != ranksSocketName {
			a.removeDir(dir)
		}
	}
	return nil
}

// closeDirs removes the place, unless jobs go on.
func (a *Agent) closeDirs() {
	entries, err := os.ReadDir(a.dirs())
	if err != nil || slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() != ranksSocketName }) {
		return
	}
	_ = os.Remove(filepath.Join(a.dirs(), ranksSocketName)) // nobody listens there
	_ = os.Remove(a.dirs())
}

// makeDir makes the job's directory, which is its user's, and puts its name into
// the environment of the ranks. Its name is new, since a job that is queued again
// may come back while its former directory is being removed.
func (j *job) makeDir() error {
	spec, user := j.order.GetSpec(), j.order.GetUser()
	dir, err := os.MkdirTemp(j.agent.dirs(), strconv.FormatUint(j.id, 10)+"-") // mode 0700
	if err != nil {
		return fmt.Errorf("making the job's directory: %w", err)
	}
	j.mu.Lock()
	j.dir = dir
	j.mu.Unlock()
	if os.Geteuid() == 0 {
		if err := os.Chown(dir, int(user.GetUid()), int(user.GetGid())); err != nil {
			return fmt.Errorf("giving the job's directory to its user: %w", err)
		}
	}
	spec.Env = slices.DeleteFunc(spec.Env, func(v string) bool { return strings.HasPrefix(v, dirVariable+"=") })
	spec.Env = append(spec.Env, dirVariable+"="+dir)
	return nil
}

// dropDir removes the job's directory with all that is in it, once no process
// of the job is left.
func (j *job) dropDir() {
	j.mu.Lock()
	dir := j.dir
	j.dir = ""
	j.mu.Unlock()
	if dir != "" {
		j.agent.removeDir(dir)
	}
}

// removeDir removes a directory in a place where only the agent makes and removes names.
func (a *Agent) removeDir(dir string) {
	if err := removeOwned(dir); err != nil {
		a.log.Warn("a job's directory could not be removed", zap.String("directory", dir), zap.Error(err))
	}
}

// removeOwned removes a directory; what is in it, with the rights of its owner alone.
func removeOwned(dir string) error {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return os.Remove(dir)
	}
	if err != nil {
		return err
	}
	open := os.NewFile(uintptr(fd), dir)
	defer open.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	owner := &launch.User{UID: st.Uid, GID: st.Gid}
	if err := launch.AsUser(owner, func() error { return userfs.Empty(open) }); err != nil {
		return err
	}
	return os.Remove(dir)
}
