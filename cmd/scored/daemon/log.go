package daemon

import (
	"os"
	"score/cmd/scored/service"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// newLogger returns a logger that writes one line per event to standard error, where service
// managers collect it, and its level, which can be changed later.
func newLogger(level string) (*zap.Logger, zap.AtomicLevel, error) {
	parsed, err := zap.ParseAtomicLevel(level)
	if err != nil {
		return nil, parsed, err
	}
	encoder := newEncoder(service.InJournal())
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(os.Stderr), parsed)), parsed, nil
}

// newEncoder returns the encoder of log entries. In the journal they have priorities, and no time
// of their own.
func newEncoder(inJournal bool) zapcore.Encoder {
	encoding := zap.NewProductionEncoderConfig()
	encoding.EncodeTime = zapcore.ISO8601TimeEncoder
	encoding.EncodeLevel = zapcore.LowercaseLevelEncoder
	if !inJournal {
		return readable{zapcore.NewConsoleEncoder(encoding)}
	}
	encoding.TimeKey = zapcore.OmitKey
	return prioritized{readable{zapcore.NewConsoleEncoder(encoding)}}
}
