package jobdirs

import (
	"cmp"
	"context"
	"errors"
	"score/nodeagent/launch"
	"score/nodeagent/mpidirs"
	"time"

	"go.uber.org/zap"
)

const (
	// maxLooks bounds how many searches for the shared memory of a user go on at once. One counts
	// until it ends, which may be never.
	maxLooks = 4
	// lookTimeout is how long the end of a job waits for a search, and for a turn before it. It
	// takes milliseconds.
	lookTimeout = 5 * time.Second
)

// errLocked means that it is not known which shared memory of a user is in use.
var errLocked = errors.New("processes of the user keep their memory locked, so it is not known what they use; files may be left")

// removeSegments removes the shared memory that MPI libraries of a user's killed ranks have left.
// It reads what the user's processes have mapped, for which the kernel waits for a lock that these
// can keep for ever (package strays): such a search is left behind, until the agent ends.
func (d *Dirs) removeSegments(user *launch.User) {
	if err := d.within(user, mpidirs.RemoveSegments); err != nil {
		d.options.Logger.Warn("shared memory of a job could not be removed", zap.Uint32("user", user.UID), zap.Error(err))
	}
}

// within calls remove for the user, and waits for its end or lookTimeout.
func (d *Dirs) within(user *launch.User, remove func(*launch.User) error) error {
	release := d.turns.Take(d.ctx, user.UID, lookTimeout)
	if release == nil {
		return cmp.Or(context.Cause(d.ctx), errLocked)
	}
	ended := make(chan error, 1)
	go func() {
		defer release()
		ended <- remove(user)
	}()
	timer := time.NewTimer(lookTimeout)
	defer timer.Stop()
	select {
	case err := <-ended:
		return err
	case <-timer.C:
		return errLocked
	case <-d.ctx.Done():
		return context.Cause(d.ctx)
	}
}
