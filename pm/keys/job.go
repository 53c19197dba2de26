package keys

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"score/channels/keys"
	"score/channels/keys/wire"
	"strconv"
	"sync"
	"time"
)

// Scope says who may see a key.
type Scope = wire.Scope

// The scopes.
const (
	Global = wire.Global // every rank
	Node   = wire.Node   // the ranks of the own node
	Remote = wire.Remote // the ranks of other nodes
)

// EnvIncarnation is how often this rank was started again; the launcher sets it.
const EnvIncarnation = "SCORE_INCARNATION"

// batchBytes is how much goes in one commit.
const batchBytes = 1 << 20

// Job is this process's part in the key sets of its job. Several goroutines may use it.
type Job struct {
	rank, size int
	view       *keys.View

	mu   sync.Mutex
	conn *net.UnixConn // nil: closed
	put  []byte        // pairs that are not committed
}

// Rank returns this process's rank.
func (j *Job) Rank() int { return j.rank }

// Size returns how many ranks the job has.
func (j *Job) Size() int { return j.size }

// Put sets a key of this rank. Others see it after the next Commit or Fence, at the latest. The
// error wraps ErrTooLong or ErrClosed.
func (j *Job) Put(scope Scope, key, value string) error {
	if key == "" || len(key) > keys.MaxKey || len(value) > keys.MaxValue {
		return fmt.Errorf("%w: a key of %d bytes, a value of %d", ErrTooLong, len(key), len(value))
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.conn == nil {
		return ErrClosed
	}
	if len(j.put) > 0 && len(j.put)+len(key)+len(value) > batchBytes {
		if err := j.commit(context.Background()); err != nil {
			return err
		}
	}
	j.put = wire.AppendPair(j.put, scope, key, value)
	return nil
}

// Get returns the newest value of a rank's key that this node knows, in place: it must not be
// changed, and must not be used after Close.
func (j *Job) Get(rank int, key string) (value []byte, ok bool) { return j.view.Get(rank, key) }

// awaitSlice is how long Await sleeps between checks of its context, which cannot wake it.
const awaitSlice = 50 * time.Millisecond

// Await is Get for a value that has not come yet: it waits for what ranks of this node commit, and
// for what fences bring from other nodes. Another goroutine of this process may be in such a fence.
// The error wraps ctx's, keys.ErrRank or the system's.
func (j *Job) Await(ctx context.Context, rank int, key string) (value []byte, err error) {
	for {
		value, ok, err := j.view.Await(rank, key, awaitSlice)
		switch {
		case err != nil:
			return nil, fmt.Errorf("keys: waiting for %.64q of rank %d: %w", key, rank, err)
		case ok:
			return value, nil
		case ctx.Err() != nil:
			return nil, fmt.Errorf("keys: waiting for %.64q of rank %d: %w", key, rank, context.Cause(ctx))
		}
	}
}

// Commit shows what was put to the ranks of this node. The error wraps ErrLost, ErrClosed or ctx's.
func (j *Job) Commit(ctx context.Context) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.commit(ctx)
}

// Fence commits, waits until all ranks have called it, and lets this one see what all have
// committed. If the job went on after ranks failed, it waits only for those of them that are
// started again. The error wraps ErrLost, ErrNoFence, ErrClosed or ctx's: after a cancelled wait a
// rank can only read.
func (j *Job) Fence(ctx context.Context) error { return j.synchronize(ctx, wire.Fence) }

// Barrier commits, and waits until all ranks have called it. Errors are those of Fence.
func (j *Job) Barrier(ctx context.Context) error { return j.synchronize(ctx, wire.Barrier) }

// Respawn asks that this rank be started again when it fails, as often as times says (at most
// 1000): when it is killed by a signal, or ends before Close or with an exit code other than 0.
// Incarnation tells its next process. The error wraps ErrLost, ErrClosed or ctx's.
func (j *Job) Respawn(ctx context.Context, times int) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.conn == nil {
		return ErrClosed
	}
	return j.ask(ctx, wire.Respawn, wire.RespawnBody(times))
}

// Incarnation is how often this rank was started again.
func (j *Job) Incarnation() int {
	n, _ := strconv.Atoi(os.Getenv(EnvIncarnation)) // without it the process is the first
	return n
}

// Close leaves the job's key sets: values that Get has given must not be used any more. It waits
// for a Fence that another goroutine is in. A rank that ends without it has failed.
func (j *Job) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.view == nil {
		return ErrClosed
	}
	err := j.view.Close()
	j.view = nil
	if j.conn == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), leavePatience)
	defer cancel()
	if lost := j.ask(ctx, wire.Leave, nil); lost != nil {
		return errors.Join(err, lost)
	}
	err = errors.Join(err, j.conn.Close())
	j.conn = nil
	return err
}
