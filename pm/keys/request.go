package keys

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"score/channels/keys/wire"
	"time"
)

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
	// It fails only on a closed connection.
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
