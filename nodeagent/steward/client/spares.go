package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"score/channels/scm"
	"score/nodeagent/steward/stewardpb"
	"score/nodeagent/steward/wire"
	"score/scored/api"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"
)

// Spare are the descriptors of a context.
type Spare struct {
	Channel, Rank uint32
	// Image is the context's memory, Socket its socket for other nodes; nil: it has none.
	Image, Socket *os.File
}

// Spares is a connection on which a job's steward keeps the descriptors from
// which the next agent rebuilds the job's contexts.
type Spares struct {
	mu   sync.Mutex // one question at a time
	conn *net.UnixConn
	in   wire.Decoder
	fds  []int // received, and not yet assigned to a context
}

const (
	// sparesControl is room for the descriptors of one message: the kernel sends 253.
	sparesControl = 2 << 10
	// maxSpares bounds the contexts that a steward may report.
	maxSpares = 16 << 10
)

// errSpares means that the descriptors of a steward do not match the contexts that it names.
var errSpares = errors.New("steward's descriptors do not match its contexts")

// DialSpares connects to the steward that listens at socket, and returns the contexts that it keeps
// for a job. The caller owns the files.
func DialSpares(ctx context.Context, socket string, job uint64) (*Spares, []Spare, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrGone, err)
	}
	s := &Spares{conn: conn.(*net.UnixConn)} // of the network "unix"
	// send meets the same error.
	_ = s.conn.SetDeadline(answerDeadline(ctx))
	open := &stewardpb.Open{Spares: true, JobId: job, Version: api.Version()}
	if err := s.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_Open{Open: open}}, nil); err != nil {
		conn.Close()
		return nil, nil, err
	}
	kept, err := s.receiveAll()
	if err != nil {
		s.drop(kept)
		return nil, nil, err
	}
	return s, kept, nil
}

// Keep gives the steward copies of a context's descriptors. If it returns without an error, they
// survive this agent. It waits for the steward's answer for at most answerWait.
func (s *Spares) Keep(spare Spare) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.conn.SetDeadline(time.Now().Add(answerWait)) // send meets the same error
	fds := []int{int(spare.Image.Fd())}
	if spare.Socket != nil {
		fd, err := descriptor(spare.Socket)
		if err != nil {
			return err
		}
		fds = append(fds, fd)
	}
	context := &stewardpb.Context{Channel: spare.Channel, Rank: spare.Rank, Socket: spare.Socket != nil}
	if err := s.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_Keep{Keep: context}}, fds); err != nil {
		return err
	}
	answer, err := s.receive()
	if err == nil && len(answer.GetContexts()) != 1 {
		err = errSpares
	}
	return err
}

// descriptor returns the file's descriptor. Unlike Fd it does not make the file blocking.
func descriptor(file *os.File) (fd int, err error) {
	raw, err := file.SyscallConn()
	if err != nil {
		return -1, err
	}
	err = raw.Control(func(n uintptr) { fd = int(n) })
	return fd, err
}

// Close ends the connection; the steward keeps its contexts. A pending call of Keep returns.
func (s *Spares) Close() { _ = s.conn.Close() }

// drop closes the files of an incomplete answer.
func (s *Spares) drop(kept []Spare) {
	_ = s.conn.Close()
	for _, k := range kept {
		k.Close()
	}
	for _, fd := range s.fds {
		unix.Close(fd)
	}
}

// Close closes the files.
func (s *Spare) Close() {
	for _, file := range []*os.File{s.Image, s.Socket} {
		if file != nil {
			file.Close()
		}
	}
}

func (s *Spares) receiveAll() (kept []Spare, err error) {
	for len(kept) <= maxSpares {
		message, err := s.receive()
		if err != nil {
			return kept, err
		}
		for _, c := range message.GetContexts() {
			spare := Spare{Channel: c.GetChannel(), Rank: c.GetRank()}
			if spare.Image, err = s.take("image"); err == nil && c.GetSocket() {
				spare.Socket, err = s.take("socket")
			}
			kept = append(kept, spare)
			if err != nil {
				return kept, err
			}
		}
		if message.GetLast() {
			return kept, nil
		}
	}
	return kept, errSpares
}

func (s *Spares) take(name string) (*os.File, error) {
	if len(s.fds) == 0 {
		return nil, errSpares
	}
	file := os.NewFile(uintptr(s.fds[0]), name)
	s.fds = s.fds[1:]
	return file, nil
}

func (s *Spares) send(m *stewardpb.ToSteward, fds []int) error {
	frame, err := wire.Append(nil, m)
	if err != nil {
		return err
	}
	var control []byte
	if len(fds) > 0 {
		control = unix.UnixRights(fds...)
	}
	if n, _, err := s.conn.WriteMsgUnix(frame, control, nil); err != nil || n < len(frame) {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	return nil
}

func (s *Spares) receive() (*stewardpb.Spares, error) {
	control := make([]byte, sparesControl)
	for {
		body, err := s.in.Next()
		if err != nil {
			return nil, err
		}
		if body != nil {
			var m stewardpb.FromSteward
			if err := proto.Unmarshal(body, &m); err != nil || m.GetSpares() == nil {
				return nil, errSpares
			}
			return m.GetSpares(), nil
		}
		n, length, flags, _, err := s.conn.ReadMsgUnix(s.in.Space(), control)
		s.in.Filled(n)
		if err != nil || n == 0 {
			return nil, fmt.Errorf("%w: it closed the connection for contexts", ErrGone)
		}
		if err := s.sort(control[:length], flags); err != nil {
			return nil, err
		}
	}
}

// sort keeps the descriptors of a message.
func (s *Spares) sort(control []byte, flags int) error {
	fds, err := scm.Rights(control)
	s.fds = append(s.fds, fds...)
	if err != nil {
		return fmt.Errorf("%w: %w", errSpares, err)
	}
	if flags&unix.MSG_CTRUNC != 0 {
		return fmt.Errorf("%w: this process may not have so many open files", errSpares)
	}
	return nil
}
