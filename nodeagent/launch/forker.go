package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"score/nodeagent/hostinfo"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Forker starts processes from one thread of its own. A process with a Forker serves one job: some
// resource limits are set on the process itself, and after a user's rank no rank of root can be
// started.
//
// Its methods may be called from any goroutine; they are carried out one after the other.
type Forker struct {
	worker *worker
	reaper *Reaper
	// maxProcesses is what all ranks of a user together have at most.
	maxProcesses uint64

	// Used on the thread only.
	thread    thread
	begun     error  // of the last BeginJob
	launcher  uint64 // ownResident for the next start; 0: not known yet
	inherited [maxResource + 1]unix.Rlimit
	changed   bool
	oom       oomScore
	sessions  bool // the kernel shares processors among sessions: a setting of the host's boot
}

// NewForker starts the thread. The Reaper gets every started rank; it must outlive the Forker.
func NewForker(reaper *Reaper) (*Forker, error) {
	f := &Forker{reaper: reaper, maxProcesses: hostinfo.UserProcesses()}
	var err error
	if f.worker, err = startWorker(f.setup); err != nil {
		f.oom.close()
		return nil, err
	}
	return f, nil
}

// setup prepares the process and its thread for starting ranks.
func (f *Forker) setup() (err error) {
	if err := f.thread.setup(); err != nil {
		return err
	}
	if err := cleanSignals(); err != nil {
		return err
	}
	if err := sealFiles(); err != nil {
		return err
	}
	if err := denyPriority(); err != nil {
		return err
	}
	if err := boundProcesses(f.maxProcesses); err != nil {
		return err
	}
	if f.inherited, err = inheritedLimits(); err != nil {
		return err
	}
	if f.oom, err = openOOMScore(); err != nil {
		return err
	}
	f.sessions = sharesSessions()
	return forgetAgent()
}

// sealFiles marks every descriptor of this process close-on-exec, so that a rank inherits only its
// own. Go's descriptors are already marked; those that the process was started with are not.
func sealFiles() error {
	const afterStandard, all = 3, ^uint(0) >> 32
	if err := unix.CloseRange(afterStandard, all, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("keeping files from the ranks: %w; Linux 5.11 or later is needed", err)
	}
	return nil
}

// Do runs task on the Forker's thread and waits for it.
func (f *Forker) Do(task func() error) error { return f.worker.do(task) }

// takeResident returns ownResident for the ranks that are started next. Reading it takes a tenth of
// a rank's start, so BeginJob has read it for the first ones of a job.
func (f *Forker) takeResident() uint64 {
	resident := f.launcher
	f.launcher = 0
	if resident == 0 {
		resident = ownResident()
	}
	return resident
}

// StartAll starts ranks in their order, with one task for the thread. After the first failure it
// returns the started ranks, which the caller must kill, with the error.
//
// A limit that the child would have anyway costs nothing. Stack and core size are set on this
// process, for good. For any other limit the child is stopped at its exec for a moment (ptrace) and
// the limit is set from outside, since it must not apply to the launcher itself.
func (f *Forker) StartAll(ranks []Rank) (started []*Process, err error) {
	err = f.Do(func() error {
		err := f.oom.asRanks(func() (err error) {
			started, err = f.startEach(ranks)
			return err
		})
		if err != nil {
			return err
		}
		return f.thread.setCPUs(nil)
	})
	return started, err
}

// startEach starts ranks in their order until one cannot be started.
func (f *Forker) startEach(ranks []Rank) ([]*Process, error) {
	started := make([]*Process, 0, len(ranks))
	launcher := f.takeResident()
	for i := range ranks {
		p, err := f.start(&ranks[i], launcher)
		if err != nil {
			return started, err
		}
		started = append(started, p)
	}
	return started, nil
}

func (f *Forker) start(r *Rank, launcher uint64) (*Process, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	if f.begun != nil {
		return nil, fmt.Errorf("rank %d: %w", r.ID, f.begun)
	}
	late, err := f.prepare(r)
	if err != nil {
		return nil, fmt.Errorf("rank %d: %w", r.ID, err)
	}
	f.reaper.starting.Lock()
	defer f.reaper.starting.Unlock()
	pidfd := -1
	pid, err := forkExec(r, &pidfd, len(late) > 0)
	if err != nil {
		return nil, startError(r, err)
	}
	f.shareProcessor(pid, r.Sharers)
	if err := limitStopped(pid, late, r.User); err != nil {
		discard(pid, pidfd)
		return nil, fmt.Errorf("rank %d: %w", r.ID, err)
	}
	p, err := f.reaper.add(r.ID, pid, pidfd, launcher)
	if err != nil {
		discard(pid, pidfd)
		return nil, fmt.Errorf("rank %d: %w", r.ID, err)
	}
	return p, nil
}

// forkExec starts a rank. If the program is open for writing, it tries again for busyWait: a
// process that has just written the file, as the agent does with a staged file, may have forked
// another one meanwhile, which has the descriptor until its exec.
func forkExec(r *Rank, pidfd *int, stopped bool) (pid int, err error) {
	for end, pause := time.Now().Add(busyWait), minBusyPause; ; pause = min(2*pause, maxBusyPause) {
		pid, err = syscall.ForkExec(r.Path, r.Argv, r.attr(pidfd, stopped))
		if !errors.Is(err, syscall.ETXTBSY) || time.Now().After(end) {
			return pid, err
		}
		time.Sleep(pause)
	}
}

// A fork reaches its exec within microseconds, on a busy machine within tenths of a second.
const (
	busyWait                   = time.Second
	minBusyPause, maxBusyPause = time.Millisecond, 20 * time.Millisecond
)

// discard kills a process that the Reaper does not know.
func discard(pid, pidfd int) {
	if pidfd >= 0 {
		defer unix.Close(pidfd)
	}
	_ = unix.Kill(pid, unix.SIGKILL) // it exists: it is our child and was not waited for
	for {
		var ws unix.WaitStatus
		_, err := wait4(pid, &ws, unix.WALL, nil)
		if err != nil || ws.Exited() || ws.Signaled() {
			return
		}
	}
}

// prepare sets the attributes that the child inherits from the thread and the process, and returns
// the limits that must be set at its exec.
func (f *Forker) prepare(r *Rank) (late []Limit, err error) {
	if err := f.thread.seal(r.User); err != nil {
		return nil, err
	}
	if err := f.thread.setCPUs(r.CPUs); err != nil {
		return nil, err
	}
	f.thread.setUmask(r.Umask)
	for _, l := range r.Limits {
		if l.Resource < 0 || l.Resource > maxResource || l.Soft > l.Hard {
			return nil, fmt.Errorf("%w: %v", ErrLimit, l)
		}
		inherited := &f.inherited[l.Resource]
		switch {
		case inherited.Cur == l.Soft && inherited.Max == l.Hard:
		case ownLimit(l.Resource):
			f.changed = true
			if err := takeOwn(l, inherited); err != nil {
				return nil, err
			}
		default:
			late = append(late, l)
		}
	}
	return late, nil
}

// Changed reports whether a rank's limits were set on this process itself.
func (f *Forker) Changed() bool {
	changed := true // also if the Forker is closed
	_ = f.Do(func() error { changed = f.changed; return nil })
	return changed
}

// Join moves the thread into a version 1 control group, so that the group's limits apply to the
// ranks that it starts (cgroup.Group.ThreadDirs). The group can be removed only after the thread
// has left it, by another Join in the same hierarchy or Close.
func (f *Forker) Join(dir string) error {
	return f.Do(func() error {
		// 0 is the calling thread; cgroup-v1/cgroups.rst.
		if err := os.WriteFile(filepath.Join(dir, "tasks"), []byte("0"), 0); err != nil {
			return fmt.Errorf("joining the job's group: %w", err)
		}
		return nil
	})
}

// Close ends the thread. The kernel then kills every rank that still runs, since their parent-death
// signal depends on the thread.
func (f *Forker) Close() {
	f.worker.close()
	<-f.worker.ended
	f.oom.close()
}
