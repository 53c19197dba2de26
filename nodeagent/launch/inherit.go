package launch

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// usualTimerSlack is the default timer slack of threads, in nanoseconds; prctl(2).
	usualTimerSlack = 50_000
	// rankOOMScore is oom_score_adj of ranks: the kernel adds half of the machine's memory to a
	// rank's use, so that it kills ranks before any daemon and any login.
	rankOOMScore = 500
	// ioClassShift is the number of low bits of an I/O priority that hold the level; the class is
	// above them. ioUsualLevel is the default level; ioprio_set(2).
	ioClassShift, ioUsualLevel   = 13, 4
	ioNone, ioRealtime, ioEffort = 0, 1, 2
	ioWhoProcess                 = 1
)

// forgetAgent resets attributes of the calling thread that ranks must not inherit from the agent.
// Lowered priorities stay, since somebody has set them on purpose.
func forgetAgent() error {
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, usualTimerSlack, 0, 0, 0); err != nil {
		return fmt.Errorf("setting the timer slack: %w", err)
	}
	if err := usualPersonality(); err != nil {
		return fmt.Errorf("setting the personality: %w", err)
	}
	if err := usualIOPriority(); err != nil {
		return fmt.Errorf("setting the I/O priority: %w", err)
	}
	if err := passNoCapabilities(); err != nil {
		return fmt.Errorf("keeping capabilities from the ranks: %w", err)
	}
	return nil
}

func usualPersonality() error {
	const linux = 0 // PER_LINUX, and no flag such as ADDR_NO_RANDOMIZE
	if _, _, errno := unix.RawSyscall(unix.SYS_PERSONALITY, linux, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// usualIOPriority resets a raised I/O priority.
func usualIOPriority() error {
	const self = 0
	now, _, errno := unix.RawSyscall(unix.SYS_IOPRIO_GET, ioWhoProcess, self, 0)
	if errno != 0 {
		return errno
	}
	class, level := now>>ioClassShift, now&(1<<ioClassShift-1)
	if class != ioRealtime && (class != ioEffort || level >= ioUsualLevel) {
		return nil
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_IOPRIO_SET, ioWhoProcess, self, ioNone); errno != 0 {
		return errno
	}
	return nil
}

// passNoCapabilities clears the capability sets that survive an exec as another user. A rank of
// root still gets root's capabilities.
func passNoCapabilities() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData // 32 capabilities each; linux/capability.h
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	data[0].Inheritable, data[1].Inheritable = 0, 0
	return unix.Capset(&header, &data[0])
}

// BeginJob gives the following ranks an empty session keyring of their own, and makes the kernel's
// audit attribute them to their user. It must be called before the first rank of each job. It does
// not wait for the thread, which has time until the job is launched: if it fails, the job's ranks
// cannot be started.
func (f *Forker) BeginJob(u *User) {
	f.worker.begin(func() {
		f.begun = newKeyring()
		if f.begun == nil {
			f.begun = setLoginUID(u)
		}
		f.launcher = ownResident()
	})
}

// newKeyring joins a new anonymous session keyring; keyctl(2). It ignores a kernel without keys,
// and the quota of keys (EDQUOT), which applies only to an agent that is not root and whose ranks
// are its own user's.
func newKeyring() error {
	const anonymous = 0
	_, _, errno := unix.RawSyscall(unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, anonymous, 0)
	switch {
	case errno == 0, errno == unix.ENOSYS:
		return nil
	case errno == unix.EDQUOT && os.Geteuid() != 0:
		return nil
	default:
		return fmt.Errorf("making a session keyring for the job: %w", errno)
	}
}

// setLoginUID sets the login uid of this thread, which ranks inherit. It does nothing if the kernel
// has no audit or an administrator has forbidden changes.
func setLoginUID(u *User) error {
	if u == nil || os.Geteuid() != 0 {
		return nil
	}
	err := writeProc("/proc/thread-self/loginuid", strconv.AppendUint(nil, uint64(u.UID), 10))
	switch {
	case err == nil, errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission):
		return nil
	default:
		return fmt.Errorf("setting the login uid: %w", err)
	}
}

// oomScore is oom_score_adj of this process, which children inherit.
type oomScore struct {
	file *os.File
	own  int
}

func openOOMScore() (oomScore, error) {
	const path = "/proc/self/oom_score_adj"
	text, err := os.ReadFile(path)
	if err != nil {
		return oomScore{}, fmt.Errorf("reading the OOM score: %w", err)
	}
	own, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return oomScore{}, fmt.Errorf("reading the OOM score: %w", err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return oomScore{}, fmt.Errorf("setting the OOM score: %w", err)
	}
	return oomScore{file: file, own: own}, nil
}

// asRanks calls f with this process's score raised to the ranks' score, which the started ranks
// inherit. A process may raise its score and lower it again to its former value.
func (o oomScore) asRanks(f func() error) error {
	if o.own >= rankOOMScore {
		return f()
	}
	if err := o.set(rankOOMScore); err != nil {
		return err
	}
	err := f()
	_ = o.set(o.own) // if this fails, this process is killed as early as its ranks, which it need not outlive
	return err
}

func (o oomScore) set(score int) error {
	if _, err := o.file.WriteAt(strconv.AppendInt(nil, int64(score), 10), 0); err != nil {
		return fmt.Errorf("setting the OOM score: %w", err)
	}
	return nil
}

func (o oomScore) close() {
	if o.file != nil {
		o.file.Close() // nothing is buffered
	}
}
