package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"score/nodeagent/steward/stewardpb"
	"score/nodeagent/steward/wire"
	"score/scored/api"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
)

// stream is a framed connection; one may send while another receives.
type stream struct {
	conn net.Conn
	in   wire.Decoder

	mu    sync.Mutex
	out   []byte // guarded by mu
	owner *Conn  // guarded by mu: who may send
}

// dial connects, and sends the purpose of the connection.
func (s *stream) dial(ctx context.Context, socket string, open *stewardpb.Open) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	s.conn = conn
	open.Version = api.Version()
	err = s.send(s.owner, &stewardpb.ToSteward{Message: &stewardpb.ToSteward_Open{Open: open}}, time.Now().Add(answerWait))
	if err != nil {
		conn.Close()
	}
	return err
}

// send writes a message. The zero deadline waits for as long as it takes.
func (s *stream) send(from *Conn, m *stewardpb.ToSteward, deadline time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if from != s.owner {
		return fmt.Errorf("%w: it serves another job by now", ErrGone)
	}
	var err error
	if s.out, err = wire.Append(s.out[:0], m); err != nil {
		return err
	}
	_ = s.conn.SetWriteDeadline(deadline) // Write meets the same error
	_, err = s.conn.Write(s.out)
	if cap(s.out) > wire.KeepSize {
		s.out = nil
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	return nil
}

func (s *stream) receive(m proto.Message) error {
	for {
		body, err := s.in.Next()
		if err != nil {
			return err
		}
		if body != nil {
			if err := proto.Unmarshal(body, m); err != nil {
				return fmt.Errorf("reading from a steward: %w", err)
			}
			return nil
		}
		n, err := s.conn.Read(s.in.Space())
		s.in.Filled(n)
		if n == 0 && err != nil {
			if errors.Is(err, io.EOF) {
				return ErrGone
			}
			return fmt.Errorf("%w: %w", ErrGone, err)
		}
	}
}
