package replica

import (
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/hashicorp/raft"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// TestConnectionsThatEndAreNoErrors: a broken connection is logged at debug level, an undecodable
// message as an error.
func TestConnectionsThatEndAreNoErrors(t *testing.T) {
	core, lines := observer.New(zapcore.DebugLevel)
	logger := newRaftLogger(zap.New(core))
	for _, c := range []struct {
		message string
		err     any
		want    zapcore.Level
	}{
		{undecoded, fmt.Errorf("read: %w", net.ErrClosed), zapcore.DebugLevel},
		{undecoded, &net.OpError{Op: "read", Err: syscall.ECONNRESET}, zapcore.DebugLevel},
		{undecoded, io.ErrUnexpectedEOF, zapcore.DebugLevel},
		{undecoded, errors.New("unknown rpc type 7"), zapcore.ErrorLevel},
		{undecoded, "no error", zapcore.ErrorLevel},
		{undecoded, raft.ErrTransportShutdown, zapcore.DebugLevel},
		{unsent, &net.OpError{Op: "write", Err: syscall.EPIPE}, zapcore.DebugLevel},
		{unsent, errors.New("short write"), zapcore.ErrorLevel},
		{"peer has newer term, stopping replication", "host2", zapcore.DebugLevel},
		{"failed to install snapshot", io.EOF, zapcore.ErrorLevel},
	} {
		logger.Error(c.message, "error", c.err)
		got := lines.TakeAll()
		if len(got) != 1 || got[0].Level != c.want {
			t.Errorf("%s, %v: %v", c.message, c.err, got)
		}
	}
}
