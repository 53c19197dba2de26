package launch

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

const (
	// MaxFD bounds the numbers that a rank's descriptors may get: all below
	// are closed or set one by one between fork and exec.
	MaxFD = 255
	// MaxCPU bounds the CPU numbers of an affinity: a kernel's largest NR_CPUS
	// in use is 8192, x/sys's fixed set holds 1024.
	MaxCPU = 1023
)

// FD is a descriptor that a rank gets besides its standard three.
type FD struct {
	File   int // descriptor here
	Target int // number there, 3 to MaxFD
}

// User is the user as whom a rank runs.
type User struct {
	UID, GID uint32
	Groups   []uint32 // supplementary groups
}

// Rank is one process to start. Path, Argv and the three standard files must be
// set; the zero value of everything else means "as the caller has it", but for
// CgroupFD.
type Rank struct {
	// ID names the rank in errors and in its Exit.
	ID int
	// Path is the program, as Resolve gave it; Argv includes argv[0].
	Path string
	Argv []string
	Env  []string // KEY=VALUE
	// Dir is the working directory, entered as the user.
	Dir string
	// Stdin, Stdout and Stderr are descriptors here; the caller closes them.
	Stdin, Stdout, Stderr int
	Extra                 []FD
	// CPUs are what the rank may run on, by the kernel's numbers.
	CPUs []int
	// User is nil for the caller's own.
	User *User
	// CgroupFD is a v2 group's directory, into which the rank is born, or <= 0
	// for the caller's group. While the group is frozen Start does not return,
	// since the new process stops before its exec: thaw or kill the group.
	CgroupFD int
	// Sharers is how many ranks of the job share each of CPUs, this one included.
	Sharers int
	// Limits are the rank's resource limits; see Forker.Start for their cost.
	Limits []Limit
	// Umask is the file mode mask, or nil.
	Umask *uint32
	// Terminal means that Stdin is a terminal, which becomes the controlling one of the rank's
	// session.
	Terminal bool
}

// check finds the caller's mistakes before anything is changed.
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

// attr translates for package syscall. In a file table ^0 means closed.
func (r *Rank) attr(pidfd *int, stop bool) *syscall.ProcAttr {
	files := []uintptr{uintptr(r.Stdin), uintptr(r.Stdout), uintptr(r.Stderr)}
	for _, fd := range r.Extra {
		for len(files) <= fd.Target {
			files = append(files, ^uintptr(0))
		}
		files[fd.Target] = uintptr(fd.File)
	}
	sys := &syscall.SysProcAttr{
		// The kernel's scheduler shares processors among sessions, and was seen (6.18) to let one
		// whose processes sleep and wake on several of them keep one for seconds from all others.
		// A rank has one processor as a rule, and so has its session.
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

// isSelf reports whether an unprivileged caller is that user already: it could not
// set its groups, and need not. Root always sets all, to shed its own groups.
func (u *User) isSelf() bool {
	return os.Geteuid() != 0 && int(u.UID) == os.Geteuid() && int(u.GID) == os.Getegid()
}
