package keys

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"score/channels/keys"
	"score/channels/keys/wire"
	"score/channels/scm"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// EnvSocket is the descriptor on which a rank speaks with its job's steward; the launcher sets it.
const EnvSocket = "PMI_FD"

// joinPatience and leavePatience bound how long Open and Close wait for the steward, which answers
// within microseconds if it has a processor.
const (
	joinPatience  = 30 * time.Second
	leavePatience = 30 * time.Second
)

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
	fds, err := scm.Rights(control)
	if err != nil || len(fds) != 1 {
		return nil, fmt.Errorf("%w: no store of keys came", wire.ErrMalformed)
	}
	return os.NewFile(uintptr(fds[0]), "score-keys"), nil
}
