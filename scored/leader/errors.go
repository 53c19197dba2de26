package leader

import "errors"

// Refusals. The wrapping text is a sentence for the user.
var (
	// ErrNoJob: the job never existed, or ended so long ago that it is forgotten.
	ErrNoJob = errors.New("no such job")
	// ErrState: the job is not in a state in which this can be done.
	ErrState = errors.New("not now")
	// ErrDenied: the caller's role does not allow it.
	ErrDenied = errors.New("permission denied")
	// ErrImpossible: the cluster could never do it.
	ErrImpossible = errors.New("cannot be done")
	// ErrInvalid: the request is malformed.
	ErrInvalid = errors.New("invalid request")
	// ErrLost: the server lost the leadership or could not write to its disk; the change may have
	// been made.
	ErrLost = errors.New("the server could not commit the change")
	// ErrNoLeader: no server leads, and nothing was changed.
	ErrNoLeader = errors.New("the server cannot decide anything now: it does not lead, or cannot write to its disk; check its log, and try again")
	// ErrElsewhere: another server leads, and nothing was changed.
	ErrElsewhere = errors.New("another server leads the cluster now; try again")
	// ErrStarting: not all nodes of a new cluster are connected yet, and nothing was changed.
	ErrStarting = errors.New("starting")
	// ErrAttached: an earlier attachment of the job's scrun is being ended.
	ErrAttached = errors.New("attached already")
	// ErrStopped: the server is going down.
	ErrStopped = errors.New("the server is stopping")
)
