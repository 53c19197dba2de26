package jobdirs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"score/nodeagent/launch"
	"score/nodeagent/mpidirs"
	"score/nodeagent/stewardpool"
	"score/nodeagent/userfs"
	"score/nodeagent/wait"
	"score/scored/api/agentpb"
	"slices"
	"strings"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

const (
	// dirVariable names the directory that a job has on the node, for files that need not outlive
	// it.
	dirVariable = "SCORE_JOB_DIR"
	// dirsMode lets users reach the directories of their jobs, and list nobody's.
	dirsMode = 0o711
	// RanksSocket is the name of the ranks' socket in a directory in which only the agent makes
	// names.
	RanksSocket = "pm"
)

// errNotOwn means that something else is at the path of a directory.
var errNotOwn = errors.New("it is not a directory of the agent's own")

// errStopped means that something is left for the next agent.
var errStopped = errors.New("the agent stops; the next one removes the rest")

// Options are the options of New.
type Options struct {
	// JobsDir holds the directories of the jobs. Their users can fill its file system, so neither
	// the system nor the agent should need room there.
	JobsDir string
	// RunDir is the agent's; the ranks' socket is beside it, since it is closed to users. Agents of
	// former versions had the jobs' directories there, too.
	RunDir string
	// Prefix is the prefix of the names of directories in public places (/dev/shm, /tmp).
	Prefix string
	// Go runs in the background what users can make last: Open is on the way to serving the node.
	Go func(func())
	// Note shows a sentence in the status of the node.
	Note   func(string)
	Logger *zap.Logger
}

// Dirs manages the directories of one agent's jobs.
type Dirs struct {
	options Options
	ctx     context.Context // of all that is removed
	stop    context.CancelCauseFunc
	turns   *wait.Turns // of the searches for shared memory
}

// New returns the Dirs; it makes no directory.
func New(options Options) *Dirs {
	ctx, stop := context.WithCancelCause(context.Background())
	return &Dirs{options, ctx, stop, wait.NewTurns(maxLooks)}
}

// Stop ends all removing, so that the agent can stop however much users have left.
func (d *Dirs) Stop() { d.stop(errStopped) }

// RanksDir returns the directory of the ranks' socket.
func (d *Dirs) RanksDir() string { return Default(d.options.RunDir) }

// isOfRanks reports whether a name beside the jobs' directories is for the ranks of all jobs.
func isOfRanks(name string) bool { return name == RanksSocket || name == mpidirs.Hardware }

// places returns the directories in which jobs may have directories.
func (d *Dirs) places() []string { return []string{d.options.JobsDir, d.RanksDir()} }

// Default returns the default of JobsDir.
func Default(runDir string) string { return runDir + ".jobs" }

// dirIn returns the job's directory by the environment in its order, "" if there is none. The order
// may come from a steward, so only a name in one of the places counts.
func (d *Dirs) dirIn(order *agentpb.Prepare) string {
	for _, v := range order.GetSpec().GetEnv() {
		dir, ok := strings.CutPrefix(v, dirVariable+"=")
		if ok && dir == filepath.Clean(dir) && slices.Contains(d.places(), filepath.Dir(dir)) {
			return dir
		}
	}
	return ""
}

// Open makes the places for the jobs' directories and for the ranks' socket, and removes, in the
// background, what ended jobs of a former agent have left there.
func (d *Dirs) Open(orphans []*stewardpool.Orphan) error {
	if err := makePlace(d.RanksDir()); err != nil {
		return fmt.Errorf("the ranks' socket cannot be in %s: %w; name another run_dir", d.RanksDir(), err)
	}
	err := makePlace(d.options.JobsDir)
	if errors.Is(err, errNotOwn) {
		return fmt.Errorf("the jobs' directories cannot be in %s: %w; name another stage_dir", d.options.JobsDir, err)
	}
	d.noteDirs(err)
	held := make(map[string]bool, len(orphans))
	for _, o := range orphans {
		held[d.dirIn(o.Status.GetOrder().GetJob())] = true
	}
	var all []string
	for _, place := range d.places() {
		// Ranks of the jobs that go on look for the socket until this agent listens there, and may
		// read the description.
		left, err := jobsIn(place, func(dir string) bool { return held[dir] || isOfRanks(filepath.Base(dir)) })
		if err != nil {
			return fmt.Errorf("looking for directories of former jobs: %w", err)
		}
		all = append(all, left...)
	}
	d.options.Go(func() { d.sweepDirs(all) })
	return nil
}

// noteDirs reports what is wrong with the place of the jobs' directories. The agent starts all the
// same: jobs may be running, and a full disk may have room for the next job.
func (d *Dirs) noteDirs(err error) {
	var note string
	switch {
	case err != nil:
		note = fmt.Sprintf("jobs cannot have their directories in %s: %v; make room there, or name another stage_dir", d.options.JobsDir, err)
	case os.Geteuid() == 0 && !OpenToAll(d.options.JobsDir):
		note = "users cannot reach the directories of their jobs in " + d.options.JobsDir + "; let them pass all directories on the way"
	default:
		return
	}
	d.options.Logger.Warn(note)
	d.options.Note(note)
}

// makePlace makes a directory in which only the agent can make names, and through which users can
// pass.
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
	return os.Chmod(dir, dirsMode) // the umask may have cleared bits
}

// sweepDirs removes directories, and the shared memory of their jobs' ranks.
func (d *Dirs) sweepDirs(left []string) {
	for _, owner := range ownersOf(left) {
		d.removeSegments(owner)
	}
	for _, dir := range left {
		d.removeDir(dir)
	}
}

// jobsIn lists the paths in a place, except those that are kept.
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

// ownersOf lists the owners of directories, each once.
func ownersOf(dirs []string) (owners []*launch.User) {
	seen := make(map[uint32]bool)
	for _, dir := range dirs {
		if st, err := userfs.StatEntry(dir); err == nil && !seen[st.Uid] {
			seen[st.Uid] = true
			owners = append(owners, &launch.User{UID: st.Uid, GID: st.Gid})
		}
	}
	return owners
}

// Sweep removes what jobs have left after the last agent of a node: their directories in a place,
// and shared memory. It drops errors.
func Sweep(place string) {
	left, _ := jobsIn(place, func(dir string) bool { return filepath.Base(dir) == RanksSocket })
	for _, owner := range ownersOf(left) {
		_ = mpidirs.RemoveSegments(owner)
	}
	for _, dir := range left {
		_ = removeOwned(context.Background(), dir)
	}
}

// Close removes the places, unless jobs go on.
func (d *Dirs) Close() {
	for _, place := range d.places() {
		entries, _ := os.ReadDir(place) // what cannot be read is not removed, either
		if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !isOfRanks(e.Name()) }) {
			return
		}
	}
	for _, place := range d.places() {
		_ = os.Remove(filepath.Join(place, RanksSocket)) // nobody listens there
		_ = os.Remove(filepath.Join(place, mpidirs.Hardware))
		_ = os.Remove(place) // the two may be one
	}
}

// NoRoom adds to the error of a full file system what to do; it returns other errors as they are.
func (d *Dirs) NoRoom(err error) error {
	switch {
	case errors.Is(err, unix.ENOSPC):
		return fmt.Errorf("the file system of %s is full; free some of it, or name other nodes with -w: %w", d.options.JobsDir, err)
	case errors.Is(err, unix.EDQUOT):
		return fmt.Errorf("your quota on the file system of %s is used up; remove files of yours there: %w", d.options.JobsDir, err)
	default:
		return err
	}
}

// removeDir removes a directory in a place where only the agent makes and removes names.
func (d *Dirs) removeDir(dir string) {
	if err := removeOwned(d.ctx, dir); err != nil {
		d.options.Logger.Warn("a job's directory could not be removed", zap.String("directory", dir), zap.Error(err))
	}
}

// removeOwned removes a directory. It removes the contents with the rights of its owner alone; most
// directories have none.
func removeOwned(ctx context.Context, dir string) error {
	if unix.Rmdir(dir) == nil {
		return nil
	}
	open, err := userfs.OpenEntry(dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if errors.Is(err, unix.ENOENT) {
		return nil // the agent died after it had removed it
	}
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return os.Remove(dir)
	}
	if err != nil {
		return err
	}
	defer open.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(open.Fd()), &st); err != nil {
		return err
	}
	owner := &launch.User{UID: st.Uid, GID: st.Gid}
	if err := launch.AsUser(owner, func() error { return userfs.Empty(ctx, open) }); err != nil {
		return err
	}
	return os.Remove(dir)
}

// OpenToAll reports whether everybody may pass through a directory and those above it.
func OpenToAll(dir string) bool {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
		dir = filepath.Dir(dir)
	}
}
