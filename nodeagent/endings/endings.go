// Package endings lists the jobs that a node is still ending after the leader has forgotten them.
// New jobs wait for the ends, but not for ever.
package endings

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"score/nodeagent/wait"
	"slices"
	"sync"
	"time"
)

const (
	// othersTimeout is how long a new job waits for processes that this node is ending, from the
	// instant that they were told to end. It is longer than the agent and a steward take to end
	// them by force, also on a busy machine. Processes that have not ended by then, for instance
	// because a file system is dead, may never end.
	othersTimeout = 10 * time.Second
	// ownTimeout is how long a requeued job waits for the processes of its former run: less than
	// the leader gives it to become ready.
	ownTimeout = 20 * time.Second
	// maxLate bounds the jobs of one user whose processes do not end. With more, no new job of the
	// user begins, since the processes may still have memory and processors. It is a user's, since
	// any user can make processes that Linux does not end: two that trace each other, and stop each
	// other where they exit (PTRACE_O_TRACEEXIT).
	maxLate = 16
	// maxLateOfAll bounds the jobs of all users whose processes do not end: on such a node
	// something else is broken, as a file system.
	maxLateOfAll = 4 * maxLate
)

// Errors that refuse a job on a node where the processes of ended jobs do not end.
var (
	ErrStuck = errors.New("processes of a job that the cluster has given up do not end here; look at the agent's log")
	// ErrStuckOfUser refuses a job since its user has too many of them.
	ErrStuckOfUser = fmt.Errorf(
		"processes of more than %d of your jobs that have ended cannot be killed here; end what holds them, as a debugger, or use other nodes", maxLate)
)

// List holds the jobs that are being ended here: the leader has forgotten them, or no agent could
// adopt them. No new job begins until they are over or their time has passed. A kill of such a job
// is answered when the job is over.
type List struct {
	mu   sync.Mutex
	jobs map[<-chan struct{}]ending // by what is closed when they are over
}

// ending is a job that is being ended.
type ending struct {
	id    uint64
	user  uint32
	since time.Time
}

// Add adds a job of a user that is being ended. over is closed at its end.
func (l *List) Add(id uint64, user uint32, over <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.jobs == nil {
		l.jobs = make(map[<-chan struct{}]ending)
	}
	l.jobs[over] = ending{id, user, time.Now()}
}

// all returns the jobs that are not over.
func (l *List) all() map[<-chan struct{}]ending {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.jobs, func(over <-chan struct{}, _ ending) bool { return wait.Closed(over) })
	return maps.Clone(l.jobs)
}

// Of returns the channels that are closed when what is left of the job is over.
func (l *List) Of(id uint64) (overs []<-chan struct{}) {
	for over, of := range l.all() {
		if of.id == id {
			overs = append(overs, over)
		}
	}
	return overs
}

// Await waits until a new job of a user may begin: all other jobs of the list are over, or their
// time has passed. own is closed when the new job itself is over: the leader may have forgotten it
// before it begins.
func (l *List) Await(ctx context.Context, id uint64, user uint32, own <-chan struct{}) error {
	begin, late, lateOfUser := time.Now(), 0, 0
	for over, of := range l.all() {
		if over == own {
			continue
		}
		timeout := othersTimeout - time.Since(of.since)
		if of.id == id {
			timeout = ownTimeout - time.Since(begin)
		}
		switch isOver, err := wait.Within(ctx, over, timeout); {
		case err != nil:
			return err
		case isOver:
		case of.id == id:
			return ErrStuck
		default:
			late++
			if of.user == user {
				lateOfUser++
			}
		}
	}
	switch {
	case lateOfUser > maxLate:
		return ErrStuckOfUser
	case late > maxLateOfAll:
		return ErrStuck
	default:
		return nil
	}
}

// Late returns the jobs whose processes have not ended in time.
func (l *List) Late() (jobs []uint64) {
	for _, of := range l.all() {
		if time.Since(of.since) > othersTimeout {
			jobs = append(jobs, of.id)
		}
	}
	slices.Sort(jobs)
	return slices.Compact(jobs)
}

// Problem returns a sentence about the jobs that Late returns; empty if there are none.
func (l *List) Problem() string {
	jobs := l.Late()
	if len(jobs) == 0 {
		return ""
	}
	const named = 4
	return fmt.Sprintf(
		"processes of %d jobs that have ended cannot be killed (jobs %v); new jobs run beside them, up to %d of a user: look at what the processes wait for, or restart the host",
		len(jobs),
		jobs[:min(len(jobs), named)],
		maxLate,
	)
}
