package gang

import "errors"

// Errors of Submit, Restore, AddNode, SetDrain, RemoveNode and Validate. The wrapping text gives
// the requested amount and the available one.
var (
	ErrBadRequest      = errors.New("bad request")
	ErrDuplicateJob    = errors.New("job id is in use")
	ErrNoNodes         = errors.New("no nodes")
	ErrUnknownNode     = errors.New("unknown node")
	ErrTooFewCPUs      = errors.New("too few CPUs")
	ErrTooManyNodes    = errors.New("too many nodes")
	ErrTooManyCPUs     = errors.New("too many CPUs on one node")
	ErrTooManyRanks    = errors.New("too many ranks on one node")
	ErrTooMuchMemory   = errors.New("too much memory")
	ErrTooManyChannels = errors.New("too many channels")
	ErrOwnerLimit      = errors.New("beyond the user's limit")
	ErrNotRunning      = errors.New("not running")
	ErrConflict        = errors.New("allocation conflicts")
	ErrDuplicateNode   = errors.New("node name is in use")
	ErrBadNode         = errors.New("bad node")
	ErrBadConfig       = errors.New("bad scheduler setting")
)
