package daemon

import (
	"os"

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
	encoding := zap.NewProductionEncoderConfig()
	encoding.EncodeTime = zapcore.ISO8601TimeEncoder
	encoding.EncodeLevel = zapcore.LowercaseLevelEncoder
	encoder := readable{zapcore.NewConsoleEncoder(encoding)}
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(os.Stderr), parsed)), parsed, nil
}
