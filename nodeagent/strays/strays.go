// Package strays finds processes of a job by a mark in their environment, and kills them.
//
// The kernel reads the environment of a process in the memory of that process, and waits for the
// lock on its mappings. The process can keep the lock for ever: one thread reads /proc/self/mem
// where a file of a file system that does not answer is mapped, another thread maps anything. So
// goroutines read, which may be left behind; the death of this process ends such a wait.
package strays

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"score/nodeagent/wait"
	"slices"
	"strings"
	"time"
)

// Variable is in the environment of every rank, and so of the processes that a rank starts. Without
// control groups, it is the only link between a process and its job once the steward and the
// parents are dead and the process has left its process group.
const Variable = "SCORE_JOB_KEY"

// MarkIn returns the mark in the environment of a job.
func MarkIn(env []string) string {
	for _, variable := range slices.Backward(env) {
		if strings.HasPrefix(variable, Variable+"=") {
			return variable
		}
	}
	return ""
}

const (
	// maxSearches bounds the searches of one user at once. One with silent processes counts until
	// all of these have answered, which may be never. A user has none of those unless processes
	// hide their environment on purpose.
	maxSearches = 4
	// turnTimeout is how long a search waits until another of the user's ends. They take some ten
	// milliseconds, or twice silentTimeout for each of maxSilent processes.
	turnTimeout = 20 * time.Second
)

var (
	// ErrSilent means that processes of the user did not show their environment. They may be
	// strays.
	ErrSilent = errors.New("processes of the user do not show their environment, as they keep their memory locked")
	// ErrSearches means that nothing was searched, since earlier searches of the user wait for
	// silent processes.
	ErrSearches = errors.New("earlier searches among the user's processes wait for some that keep their memory locked")
)

// Killer searches for processes.
type Killer struct{ turns *wait.Turns }

// New returns a Killer.
func New() *Killer { return &Killer{turns: wait.NewTurns(maxSearches)} }

// Kill ends all processes of the user that carry the mark, until there is none or ctx ends. A
// program that clears its environment escapes. Another user's process is left alone: the mark is no
// secret, and a user can pass it on to programs that run for others. The error is ErrSilent,
// ErrSearches, or the cause of ctx.
func (k *Killer) Kill(ctx context.Context, uid uint32, mark string) error {
	release := k.turns.Take(ctx, uid, turnTimeout)
	if release == nil {
		return cmp.Or(context.Cause(ctx), ErrSearches)
	}
	s := searcher{uid: uid, mark: mark, silent: make(map[int]<-chan struct{})}
	s.run(ctx)
	if len(s.silent) == 0 {
		release()
		return context.Cause(ctx)
	}
	go func() {
		for _, answer := range s.silent {
			<-answer
		}
		release()
	}()
	return fmt.Errorf("%w (%d of them)", ErrSilent, len(s.silent))
}
