package daemon

import (
	"score/cmd/scored/service"

	"github.com/coreos/go-systemd/v22/journal"
	"go.uber.org/zap/buffer"
	"go.uber.org/zap/zapcore"
)

// prioritized begins each entry with its priority, which the journal takes out of the text.
type prioritized struct{ zapcore.Encoder }

var prioritizedLines = buffer.NewPool()

// Clone implements zapcore.Encoder.
func (p prioritized) Clone() zapcore.Encoder { return prioritized{p.Encoder.Clone()} }

// EncodeEntry implements zapcore.Encoder.
func (p prioritized) EncodeEntry(entry zapcore.Entry, fields []zapcore.Field) (*buffer.Buffer, error) {
	line, err := p.Encoder.EncodeEntry(entry, fields)
	if err != nil {
		return nil, err
	}
	defer line.Free()
	whole := prioritizedLines.Get()
	whole.AppendString(service.Prefix(priorityOf(entry.Level)))
	whole.AppendBytes(line.Bytes())
	return whole, nil
}

func priorityOf(level zapcore.Level) journal.Priority {
	switch {
	case level >= zapcore.DPanicLevel:
		return journal.PriCrit
	case level == zapcore.ErrorLevel:
		return journal.PriErr
	case level == zapcore.WarnLevel:
		return journal.PriWarning
	case level == zapcore.InfoLevel:
		return journal.PriInfo
	}
	return journal.PriDebug
}
