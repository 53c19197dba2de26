package launch

import (
	"errors"
	"fmt"
	"syscall"
)

var (
	// ErrNotFound means that there is no such program.
	ErrNotFound = errors.New("program not found")
	// ErrNotExecutable means that the program is there but may not or cannot
	// be executed by the user.
	ErrNotExecutable = errors.New("program cannot be executed")
	// ErrWrongArch means that the program is for another kind of machine.
	ErrWrongArch = errors.New("program is for another kind of machine")
	// ErrBadInterpreter means that the interpreter which the program names in
	// its first line or its ELF header is missing or cannot be executed.
	ErrBadInterpreter = errors.New("program's interpreter cannot be used")
	// ErrDir means that the working directory is missing or closed to the user.
	ErrDir = errors.New("working directory cannot be used")
	// ErrUser means that the rank cannot be started as the requested user.
	ErrUser = errors.New("cannot become the user")
	// ErrLimit means that a resource limit is not possible here.
	ErrLimit = errors.New("resource limit is not possible")
	// ErrRank means that a Rank is malformed: a bug of the caller.
	ErrRank = errors.New("malformed rank")
	// ErrNoProcess means that the system cannot hold one more process.
	ErrNoProcess = errors.New("no more processes possible")
	// ErrClosed means that the Forker or Reaper is closed.
	ErrClosed = errors.New("launcher is closed")
)

// Exit codes of a program that could not be started, as in shells.
const (
	CodeCluster       = 125 // a fault that is not the program's
	CodeNotExecutable = 126
	CodeNotFound      = 127
)

// ExitCode returns the exit code of scrun if ranks cannot be started because of err.
func ExitCode(err error) int {
	switch {
	case errors.Is(err, ErrNotFound):
		return CodeNotFound
	case errors.Is(err, ErrNotExecutable), errors.Is(err, ErrWrongArch),
		errors.Is(err, ErrBadInterpreter), errors.Is(err, ErrDir):
		return CodeNotExecutable
	default:
		return CodeCluster
	}
}

// startError returns a sentence with the rank and what to do. The kernel gives one errno for all
// steps between fork and exec, so the sentence names the likeliest step; Resolve has excluded
// others beforehand.
func startError(r *Rank, errno error) error {
	switch {
	case errors.Is(errno, syscall.EAGAIN):
		return fmt.Errorf("rank %d: %w: %w; raise the limit on processes (ulimit -u, or the setting max_processes) or start fewer ranks",
			r.ID, ErrNoProcess, errno)
	case errors.Is(errno, syscall.ENOMEM):
		return fmt.Errorf("rank %d: %w: %w; free memory or start fewer ranks", r.ID, ErrNoProcess, errno)
	case errors.Is(errno, syscall.EPERM):
		return fmt.Errorf("rank %d: %w: %w; the agent must run as root to start ranks of other users",
			r.ID, ErrUser, errno)
	case r.CgroupFD > 0 && (errors.Is(errno, syscall.EBUSY) || errors.Is(errno, syscall.ENODEV)):
		return fmt.Errorf("rank %d: its control group takes no processes: %w; it was removed or has groups below it",
			r.ID, errno)
	case errors.Is(errno, syscall.E2BIG):
		return fmt.Errorf("rank %d: %w: %w; shorten the command line or the environment, or raise the stack limit",
			r.ID, ErrNotExecutable, errno)
	case errors.Is(errno, syscall.ENOENT), errors.Is(errno, syscall.ENOTDIR):
		return fmt.Errorf("rank %d: %w: %q or the directory %q: %w; it vanished after it was found",
			r.ID, ErrNotFound, r.Path, r.Dir, errno)
	default:
		return fmt.Errorf("rank %d: %w: %q in the directory %q: %w",
			r.ID, ErrNotExecutable, r.Path, r.Dir, errno)
	}
}
