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
	"score/nodeagent/mpidirs"
	"score/nodeagent/stewardpool"
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

// errNotOwn means that somebody else has made what is at a path of the agent's.
var errNotOwn = errors.New("it is not a directory of the agent's own")

// dirs is where the directories of the jobs are. Their users can write there as much as the
// file system lets them, so it is not where the system or the agent needs room.
func (a *Agent) dirs() string { return a.options.JobsDir }

// ranksDir is where the ranks' socket is, beside the run directory, which is closed to users.
// Agents of former versions had the jobs' directories there, too.
func (a *Agent) ranksDir() string { return DefaultJobsDir(a.options.RunDir) }

// places are those in which jobs may have directories.
func (a *Agent) places() []string { return []string{a.dirs(), a.ranksDir()} }

// DefaultJobsDir is Options.JobsDir where it is not set.
func DefaultJobsDir(runDir string) string { return runDir + ".jobs" }

// dirIn is the directory that an order to prepare has got; empty: none. The
// order may come back from a steward.
func (a *Agent) dirIn(order *scorev1.Prepare) string {
	for _, v := range order.GetSpec().GetEnv() {
		dir, ok := strings.CutPrefix(v, dirVariable+"=")
		if ok && slices.Contains(a.places(), filepath.Dir(dir)) {
			return dir
		}
	}
	return ""
}

// openDirs makes the places for the jobs' directories and for the ranks' socket, and
// removes what ended jobs of a former agent have left there.
func (a *Agent) openDirs(orphans []*stewardpool.Orphan) error {
	if err := makePlace(a.ranksDir()); err != nil {
		return fmt.Errorf("the ranks' socket cannot be in %s: %w; name another run_dir", a.ranksDir(), err)
	}
	err := makePlace(a.dirs())
	if errors.Is(err, errNotOwn) {
		return fmt.Errorf("the jobs' directories cannot be in %s: %w; name another stage_dir", a.dirs(), err)
	}
	a.noteDirs(err)
	held := make(map[string]bool, len(orphans))
	for _, o := range orphans {
		held[a.dirIn(o.Status.GetOrder().GetJob())] = true
	}
	for _, place := range a.places() {
		if err := a.sweepDirs(place, held); err != nil {
			return fmt.Errorf("looking for directories of former jobs: %w", err)
		}
	}
	return nil
}

// noteDirs tells what is amiss with the place of the jobs' directories. A full disk, which may be
// empty again for the next job, keeps no agent from its running jobs.
func (a *Agent) noteDirs(err error) {
	note := ""
	switch {
	case err != nil:
		note = fmt.Sprintf("jobs cannot have their directories in %s: %v; make room there, or name another stage_dir", a.dirs(), err)
	case os.Geteuid() == 0 && !openToAll(a.dirs()):
		note = "users cannot reach the directories of their jobs in " + a.dirs() + "; let them pass all directories on the way"
	default:
		return
	}
	a.log.Warn(note)
	a.notes = append(a.notes, note)
}

// makePlace makes a directory in which only the agent makes names, and that users can pass.
func makePlace(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), dirsMode); err != nil {
		return err
	}
	if err := os.Mkdir(dir, dirsMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || int(st.Uid) != os.Geteuid() {
		return errNotOwn
	}
	return os.Chmod(dir, dirsMode) // the mask of the agent's process may have taken bits away
}

// sweepDirs removes the directories in a place, except those that are held, and what the ranks of
// these jobs have left elsewhere.
func (a *Agent) sweepDirs(place string, held map[string]bool) error {
	// Ranks of the jobs that go on look for the socket until this agent listens there.
	left, err := jobsIn(place, func(dir string) bool { return held[dir] || filepath.Base(dir) == ranksSocketName })
	for _, owner := range ownersOf(left) {
		a.removeSegments(owner)
	}
	for _, dir := range left {
		a.removeDir(dir)
	}
	return err
}

// jobsIn are the paths in a place but for those that are kept.
func jobsIn(place string, kept func(dir string) bool) (dirs []string, err error) {
	entries, err := os.ReadDir(place)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // it could not be made
	}
	for _, entry := range entries {
		if dir := filepath.Join(place, entry.Name()); !kept(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs, err
}

// ownersOf are the users of directories, each once.
func ownersOf(dirs []string) (owners []*launch.User) {
	seen := make(map[uint32]bool)
	for _, dir := range dirs {
		var st unix.Stat_t
		if unix.Lstat(dir, &st) == nil && !seen[st.Uid] {
			seen[st.Uid] = true
			owners = append(owners, &launch.User{UID: st.Uid, GID: st.Gid})
		}
	}
	return owners
}

// SweepJobs removes what the jobs of an agent that will have no successor have left: their
// directories in a place, and shared memory. It is quiet.
func SweepJobs(place string) {
	left, _ := jobsIn(place, func(dir string) bool { return filepath.Base(dir) == ranksSocketName })
	for _, owner := range ownersOf(left) {
		_ = mpidirs.RemoveSegments(owner)
	}
	for _, dir := range left {
		_ = removeOwned(dir)
	}
}

// closeDirs removes the places, unless jobs go on.
func (a *Agent) closeDirs() {
	for _, place := range a.places() {
		entries, _ := os.ReadDir(place) // what cannot be read is not removed, either
		if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() != ranksSocketName }) {
			return
		}
	}
	for _, place := range a.places() {
		_ = os.Remove(filepath.Join(place, ranksSocketName)) // nobody listens there
		_ = os.Remove(place)                                 // the two may be one
	}
}

// makeDir makes the job's directory, which is its user's, and puts its name into
// the environment of the ranks. Its name is new, since a job that is queued again
// may come back while its former directory is being removed.
func (j *job) makeDir() error {
	spec, user := j.order.GetSpec(), j.order.GetUser()
	name := strconv.FormatUint(j.id, 10) + "-*"
	dir, err := os.MkdirTemp(j.agent.dirs(), name) // mode 0700
	if errors.Is(err, fs.ErrNotExist) {            // somebody has cleaned up there
		if err = makePlace(j.agent.dirs()); err == nil {
			dir, err = os.MkdirTemp(j.agent.dirs(), name)
		}
	}
	if err != nil {
		return fmt.Errorf("making the job's directory: %w", j.agent.noRoom(err))
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

// noRoom says what helps against an error of a full file system; others stay as they are.
func (a *Agent) noRoom(err error) error {
	switch {
	case errors.Is(err, unix.ENOSPC):
		return fmt.Errorf("the file system of %s is full; free some of it, or name other nodes with -w: %w", a.dirs(), err)
	case errors.Is(err, unix.EDQUOT):
		return fmt.Errorf("your quota on the file system of %s is used up; remove files of yours there: %w", a.dirs(), err)
	default:
		return err
	}
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
	if errors.Is(err, unix.ENOENT) {
		return nil // the agent that died had removed it, and told nobody of the job's end
	}
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
