package replica

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"slices"
	"syscall"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// raftLogger passes Raft's lines on to zap. Raft's info level is debug here: its lines matter only
// for finding faults in Raft.
type raftLogger struct {
	zap     *zap.Logger
	name    string
	implied []any
}

var _ hclog.Logger = (*raftLogger)(nil)

func newRaftLogger(logger *zap.Logger) *raftLogger {
	return &raftLogger{zap: logger.WithOptions(zap.AddCallerSkip(2)), name: "raft"}
}

func zapLevel(level hclog.Level) zapcore.Level {
	switch {
	case level >= hclog.Error:
		return zapcore.ErrorLevel
	case level == hclog.Warn:
		return zapcore.WarnLevel
	default:
		return zapcore.DebugLevel
	}
}

// repeated are lines that Raft logs several times a second while another replica is down or new, or
// whenever another one leads. leaderWatch logs that once instead.
var repeated = map[string]bool{
	"failed to heartbeat to": true, "failed to appendEntries to": true, "failed to make requestVote RPC": true,
	"appendEntries rejected, sending older logs": true, "failed to get previous log": true, "failed to pipeline appendEntries": true,
	"failed to start pipeline replication to": true, "peer has newer term, stopping replication": true,
}

// undecoded and unsent are what Raft logs for each connection that breaks, and for messages that it
// cannot decode or encode. The former is logged at debug level: several connections break whenever
// a server stops or is lost, and leaderWatch logs that once.
const (
	undecoded = "failed to decode incoming command"
	unsent    = "failed to flush response"
)

// connectionEnd reports whether a line's argument is the error of a broken connection.
func connectionEnd(arg any) bool {
	err, ok := arg.(error)
	if !ok {
		return false
	}
	ends := []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE, syscall.ETIMEDOUT, raft.ErrTransportShutdown}
	return slices.ContainsFunc(ends, func(end error) bool { return errors.Is(err, end) })
}

// Log writes one line. Arguments come in pairs of key and value.
func (l *raftLogger) Log(level hclog.Level, message string, args ...any) {
	if repeated[message] || (message == undecoded || message == unsent) && slices.ContainsFunc(args, connectionEnd) {
		level = hclog.Debug
	}
	line := l.zap.Check(zapLevel(level), l.name+": "+message)
	if line == nil {
		return
	}
	fields := make([]zap.Field, 0, len(args)/2)
	for i := 0; i+1 < len(args); i += 2 {
		fields = append(fields, field(fmt.Sprint(args[i]), args[i+1]))
	}
	line.Write(fields...)
}

func field(key string, value any) zap.Field {
	if formatted, ok := value.(hclog.Format); ok && len(formatted) > 0 {
		return zap.String(key, fmt.Sprintf(fmt.Sprint(formatted[0]), formatted[1:]...))
	}
	return zap.String(key, fmt.Sprint(value))
}

func (l *raftLogger) Trace(message string, args ...any) { l.Log(hclog.Trace, message, args...) }
func (l *raftLogger) Debug(message string, args ...any) { l.Log(hclog.Debug, message, args...) }
func (l *raftLogger) Info(message string, args ...any)  { l.Log(hclog.Info, message, args...) }
func (l *raftLogger) Warn(message string, args ...any)  { l.Log(hclog.Warn, message, args...) }
func (l *raftLogger) Error(message string, args ...any) { l.Log(hclog.Error, message, args...) }

func (l *raftLogger) enabled(level hclog.Level) bool { return l.zap.Core().Enabled(zapLevel(level)) }

func (l *raftLogger) IsTrace() bool { return l.enabled(hclog.Trace) }
func (l *raftLogger) IsDebug() bool { return l.enabled(hclog.Debug) }
func (l *raftLogger) IsInfo() bool  { return l.enabled(hclog.Info) }
func (l *raftLogger) IsWarn() bool  { return l.enabled(hclog.Warn) }
func (l *raftLogger) IsError() bool { return l.enabled(hclog.Error) }

func (l *raftLogger) ImpliedArgs() []any { return l.implied }

// With returns a logger that adds these pairs to every line.
func (l *raftLogger) With(args ...any) hclog.Logger {
	fields := make([]zap.Field, 0, len(args)/2)
	for i := 0; i+1 < len(args); i += 2 {
		fields = append(fields, field(fmt.Sprint(args[i]), args[i+1]))
	}
	return &raftLogger{zap: l.zap.With(fields...), name: l.name, implied: append(l.implied[:len(l.implied):len(l.implied)], args...)}
}

func (l *raftLogger) Name() string { return l.name }

// Named returns a logger with the name appended.
func (l *raftLogger) Named(name string) hclog.Logger { return l.ResetNamed(l.name + "." + name) }

// ResetNamed returns a logger with another name.
func (l *raftLogger) ResetNamed(name string) hclog.Logger {
	return &raftLogger{zap: l.zap, name: name, implied: l.implied}
}

// SetLevel does nothing: the level is zap's.
func (l *raftLogger) SetLevel(hclog.Level) {}

// GetLevel returns the lowest level whose lines are kept.
func (l *raftLogger) GetLevel() hclog.Level {
	for _, level := range []hclog.Level{hclog.Debug, hclog.Warn} {
		if l.enabled(level) {
			return level
		}
	}
	return hclog.Error
}

// StandardLogger returns a logger of package log that writes at debug level.
func (l *raftLogger) StandardLogger(*hclog.StandardLoggerOptions) *log.Logger {
	return zap.NewStdLog(l.zap)
}

// StandardWriter returns a writer that logs each write as a line.
func (l *raftLogger) StandardWriter(options *hclog.StandardLoggerOptions) io.Writer {
	return l.StandardLogger(options).Writer()
}
