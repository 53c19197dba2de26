package keys

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"score/channels/keys"
	"score/channels/keys/wire"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Scope says who may see a key.
type Scope = wire.Scope

// The scopes.
const (
	Global = wire.Global // every rank
	Node   = wire.Node   // the ranks of the own node
	Remote = wire.Remote // the ranks of other nodes
)

// EnvSocket is the descriptor on which a rank speaks with its job's steward; the launcher sets it.
const EnvSocket = "PMI_FD"

// EnvIncarnation is how often this rank was started again; the launcher sets it.
const EnvIncarnation = "SCORE_INCARNATION"

// Errors of the package.
var (
	// ErrEnvironment: the process was not started as a rank that may speak with its steward.
	ErrEnvironment = errors.New("keys: not a rank of a job")
	// ErrTooLong: a key has no byte or more than 511, or a value more than 16 MiB.
	ErrTooLong = keys.ErrTooLong
	// ErrLost: the steward does not answer any more; the job is ending.
	ErrLost = errors.New("keys: the job's steward does not answer")
	// ErrNoFence: a node was lost and the job goes on without it, so there are no more fences.
	ErrNoFence = errors.New("keys: no fence of all ranks is possible")
	// ErrClosed: Close was called, or a wait was cancelled.
	ErrClosed = errors.New("keys: closed")
)

// batchBytes is how much goes in one commit.
const batchBytes = 1 << 20

// joinPatience and leavePatience bound how long Open and Close wait for the steward, which answers
// within microseconds if it has a processor.
const (
	joinPatience  = 30 * time.Second
	leavePatience = 30 * time.Second
)

// Job is this process's part in the key sets of its job. Several goroutines may use it.
type Job struct {
	rank, size int
	view       *keys.View

	mu   sync.Mutex
	conn *net.UnixConn // nil: closed
	put  []byte        // pairs that are not committed
}

// Open joins the job, with the descriptor that the launcher has left in the environment. A process
// can do so once. The error wraps ErrEnvironment or ErrLost.
func Open() (*Job, error) {
	text := os.Getenv(EnvSocket)
	fd, err := strconv.Atoi(text)
	if err != nil || fd < 3 {
		return nil, fmt.Errorf("%w: %s=%q is no descriptor; start the program with scrun, without --mpi=none", ErrEnvironment, EnvSocket, text)
	}
	unix.CloseOnExec(fd)
	return Join(os.NewFile(uintptr(fd), EnvSocket))
}

// Join joins the job on a socket, which becomes the Job's, also when Join fails.
func Join(socket *os.File) (*Job, error) {
	c, err := net.FileConn(socket)
	socket.Close()
	if err != nil {
		return nil, fmt.Errorf("%w: %s is no socket: %w", ErrEnvironment, EnvSocket, err)
	}
	conn, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, fmt.Errorf("%w: %s is another socket", ErrEnvironment, EnvSocket)
	}
	j := &Job{conn: conn}
	if err := j.join(); err != nil {
		_ = conn.Close() // it has brought nothing
		return nil, err
	}
	return j, nil
}

// join greets the steward, and takes the store that comes with its answer.
func (j *Job) join() error {
	if err := j.conn.SetDeadline(time.Now().Add(joinPatience)); err != nil {
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	if _, err := io.WriteString(j.conn, wire.Hello); err != nil {
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	buf, rights := make([]byte, wire.HeadBytes+wire.JoinBytes), make([]byte, unix.CmsgSpace(4))
	n, rn, _, _, err := j.conn.ReadMsgUnix(buf, rights)
	if err == nil && n < len(buf) {
		// The descriptor comes with the first byte.
		_, err = io.ReadFull(j.conn, buf[n:])
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	file, err := received(rights[:rn])
	if err != nil {
		return err
	}
	op, body, err := wire.Head(buf)
	if err != nil || op != wire.Join || body != wire.JoinBytes {
		file.Close()
		return fmt.Errorf("%w: %v in answer to the greeting", wire.ErrMalformed, op)
	}
	if j.rank, j.size, err = wire.ReadJoin(buf[wire.HeadBytes:]); err != nil {
		file.Close()
		return err
	}
	if j.view, err = keys.Open(file); err != nil {
		return err
	}
	if j.view.Ranks() != j.size {
		return errors.Join(fmt.Errorf("%w: it has %d ranks, the job %d", keys.ErrDamaged, j.view.Ranks(), j.size), j.view.Close())
	}
	return j.conn.SetDeadline(time.Time{})
}

// received takes the one descriptor out of a control message.
func received(control []byte) (*os.File, error) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil || len(messages) != 1 {
		return nil, fmt.Errorf("%w: no store of keys came", wire.ErrMalformed)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, fmt.Errorf("%w: no store of keys came", wire.ErrMalformed)
	}
	unix.CloseOnExec(fds[0])
	return os.NewFile(uintptr(fds[0]), "score-keys"), nil
}

// Rank is this process's rank, Size how many ranks the job has.
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

func (j *Job) synchronize(ctx context.Context, op wire.Op) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.commit(ctx); err != nil {
		return err
	}
	return j.ask(ctx, op, nil)
}

// commit sends what was put. The caller holds mu.
func (j *Job) commit(ctx context.Context) error {
	if j.conn == nil {
		return ErrClosed
	}
	if len(j.put) == 0 {
		return nil
	}
	put := j.put
	j.put = nil
	return j.ask(ctx, wire.Commit, put)
}

// ask sends a request and waits for the answer. The caller holds mu.
func (j *Job) ask(ctx context.Context, op wire.Op, body []byte) error {
	conn := j.conn
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	err := exchange(conn, op, body)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err == nil || errors.Is(err, ErrNoFence) {
		return err
	}
	// The answer may still come, and be taken for another's.
	_ = conn.Close()
	j.conn = nil
	if ctx.Err() != nil {
		return fmt.Errorf("keys: %v: %w", op, context.Cause(ctx))
	}
	return fmt.Errorf("%w: %v: %w", ErrLost, op, err)
}

func exchange(conn *net.UnixConn, op wire.Op, body []byte) error {
	if _, err := conn.Write(wire.Append(nil, op, body)); err != nil {
		return err
	}
	var head [wire.HeadBytes]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return err
	}
	got, n, err := wire.Head(head[:])
	switch {
	case err != nil:
		return err
	case n != 0 && n <= wire.MaxReason && got == op && (op == wire.Fence || op == wire.Barrier):
		reason := make([]byte, n)
		if _, err := io.ReadFull(conn, reason); err != nil {
			return err
		}
		return fmt.Errorf("%w: %s", ErrNoFence, reason)
	case got != op || n != 0:
		return fmt.Errorf("%w: %v in answer to %v", wire.ErrMalformed, got, op)
	}
	return nil
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
