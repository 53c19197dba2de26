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
	// usualTimerSlack is the slack of every thread that has not asked for
	// another, in nanoseconds; prctl(2).
	usualTimerSlack = 50_000
	// rankOOMScore is oom_score_adj of ranks: the kernel counts a rank as if it
	// used half of the machine's memory more than it does, so that one dies
	// before any daemon and any login.
	rankOOMScore = 500
	// ioClassShift and ioUsualLevel belong to I/O priorities, ioprio_set(2): the
	// class is above these bits, the level within the class below.
	ioClassShift, ioUsualLevel   = 13, 4
	ioNone, ioRealtime, ioEffort = 0, 1, 2
	ioWhoProcess                 = 1
)

// forgetAgent undoes on the calling thread what a rank must not inherit of an
// agent that was started with it. What was lowered stays: somebody wanted it.
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

// usualIOPriority takes back a raised I/O priority.
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

// passNoCapabilities empties the sets of capabilities that survive an exec as
// another user. A rank of root has root's all the same.
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

// BeginJob gives the ranks that follow a session keyring of their own, in which
// there is nothing, and has the kernel's audit count them as their user's. It
// must be called before the first rank of each job.
func (f *Forker) BeginJob(u *User) error {
	return f.Do(func() error {
		if err := newKeyring(); err != nil {
			return err
		}
		return countAs(u)
	})
}

// newKeyring joins a new anonymous session keyring; keyctl(2). A kernel without
// keys has none to inherit. The quota of keys, EDQUOT, bounds an agent that is
// not root, whose ranks are its own user's.
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

// countAs sets the login uid of this thread, which ranks inherit. It does nothing if the kernel has
// no audit or an administrator has forbidden changes.
func countAs(u *User) error {
	if u == nil || os.Geteuid() != 0 {
		return nil
	}
	err := os.WriteFile("/proc/thread-self/loginuid", strconv.AppendUint(nil, uint64(u.UID), 10), 0)
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

// asRanks has f start ranks with their score: this process has it meanwhile. A
// process may raise its score, and come back down to where it was.
func (o oomScore) asRanks(f func() error) error {
	if o.own >= rankOOMScore {
		return f()
	}
	if err := o.set(rankOOMScore); err != nil {
		return err
	}
	err := f()
	_ = o.set(o.own) // else this process dies as soon as its ranks, which it need not outlive
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
