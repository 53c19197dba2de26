package launch

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

const (
	// MaxFD bounds the numbers of a rank's descriptors: all numbers below are closed or set one by
	// one between fork and exec.
	MaxFD = 255
	// MaxCPU bounds the CPU numbers of an affinity: a kernel's largest NR_CPUS
	// in use is 8192, x/sys's fixed set holds 1024.
	MaxCPU = 1023
)

// FD is a descriptor that a rank gets besides the three standard ones.
type FD struct {
	File   int // descriptor in this process
	Target int // number in the rank, 3 to MaxFD
}

// User is the user as whom a rank runs.
type User struct {
	UID, GID uint32
	Groups   []uint32 // supplementary groups
}

// Rank describes one process to start. Path, Argv and the three standard files must be set. The
// zero value of every other field except CgroupFD means the caller's own.
type Rank struct {
	// ID names the rank in errors and in its Exit.
	ID int
	// Path is the program as Resolve returned it; Argv includes argv[0].
	Path string
	Argv []string
	Env  []string // KEY=VALUE
	// Dir is the working directory, entered as the user.
	Dir string
	// Stdin, Stdout and Stderr are descriptors of this process; the caller closes them.
	Stdin, Stdout, Stderr int
	Extra                 []FD
	// CPUs are the kernel's numbers of the CPUs that the rank may use.
	CPUs []int
	// User is the user as whom the rank runs; nil: the caller's.
	User *User
	// CgroupFD is the directory of a v2 group in which the rank is forked, or <= 0 for the caller's
	// group. While the group is frozen Start does not return, since the new process stops before
	// its exec: thaw or kill the group.
	CgroupFD int
	// Sharers is the number of ranks of the job that share each of CPUs, including this one.
	Sharers int
	// Limits are the rank's resource limits; see Forker.StartAll for their cost.
	Limits []Limit
	// Umask is the file mode mask, or nil.
	Umask *uint32
	// Terminal means that Stdin is a terminal, which becomes the controlling terminal of the rank's
	// session.
	Terminal bool
}

// check returns an error for the caller's mistakes, before anything is changed.
func (r *Rank) check() error {
	if r.Path == "" || len(r.Argv) == 0 {
		return fmt.Errorf("rank %d: %w: no program", r.ID, ErrRank)
	}
	for _, s := range [...]string{r.Path, r.Dir} {
		if strings.IndexByte(s, 0) >= 0 {
			return fmt.Errorf("rank %d: %w: %q holds a zero byte", r.ID, ErrRank, s)
		}
	}
	if r.Stdin < 0 || r.Stdout < 0 || r.Stderr < 0 {
		return fmt.Errorf("rank %d: %w: a standard stream is missing", r.ID, ErrRank)
	}
	for _, fd := range r.Extra {
		if fd.Target < 3 || fd.Target > MaxFD || fd.File < 0 {
			return fmt.Errorf("rank %d: %w: descriptor %d as number %d", r.ID, ErrRank, fd.File, fd.Target)
		}
	}
	for _, cpu := range r.CPUs {
		if cpu < 0 || cpu > MaxCPU {
			return fmt.Errorf("rank %d: %w: CPU %d", r.ID, ErrRank, cpu)
		}
	}
	return nil
}

// attr returns the attributes in the form of package syscall. In a file table ^0 means closed.
func (r *Rank) attr(pidfd *int, stop bool) *syscall.ProcAttr {
	files := []uintptr{uintptr(r.Stdin), uintptr(r.Stdout), uintptr(r.Stderr)}
	for _, fd := range r.Extra {
		for len(files) <= fd.Target {
			files = append(files, ^uintptr(0))
		}
		files[fd.Target] = uintptr(fd.File)
	}
	sys := &syscall.SysProcAttr{
		// The kernel's scheduler shares processors among sessions. It was seen (6.18) to let a
		// session whose processes sleep and wake on several processors keep one of them from all
		// others for seconds. A rank usually has one processor, and so has its session.
		Setsid:    true,
		Pdeathsig: syscall.SIGKILL,
		PidFD:     pidfd,
		Ptrace:    stop,
	}
	if r.Terminal {
		sys.Setctty, sys.Ctty = true, 0
	}
	if r.CgroupFD > 0 {
		sys.UseCgroupFD, sys.CgroupFD = true, r.CgroupFD
	}
	if r.User != nil && !r.User.isSelf() {
		sys.Credential = &syscall.Credential{Uid: r.User.UID, Gid: r.User.GID, Groups: r.User.Groups}
	}
	return &syscall.ProcAttr{Dir: r.Dir, Env: r.Env, Files: files, Sys: sys}
}

// isSelf reports whether an unprivileged caller already is this user: it could not set its groups,
// and need not. Root always sets all ids, to drop its own groups.
func (u *User) isSelf() bool {
	return os.Geteuid() != 0 && int(u.UID) == os.Geteuid() && int(u.GID) == os.Getegid()
}
