package daemon

import (
	"score/scored/api/quote"
	"score/scored/api/texts"

	"go.uber.org/zap"
	"go.uber.org/zap/buffer"
	"go.uber.org/zap/zapcore"
)

// readable escapes what users have given (paths, for example) in log entries. An entry stays one
// line, does nothing to a terminal, and shows the bytes of text that is not UTF-8.
type readable struct{ zapcore.Encoder }

// Clone implements zapcore.Encoder.
func (r readable) Clone() zapcore.Encoder { return readable{r.Encoder.Clone()} }

// AddString implements zapcore.ObjectEncoder, for the fields of a logger.
func (r readable) AddString(key, value string) { r.Encoder.AddString(key, texts.UTF8(value)) }

// EncodeEntry implements zapcore.Encoder. It does not change the caller's fields.
func (r readable) EncodeEntry(entry zapcore.Entry, fields []zapcore.Field) (*buffer.Buffer, error) {
	entry.Message = quote.Text(entry.Message)
	shown := make([]zapcore.Field, len(fields))
	for i, field := range fields {
		shown[i] = readableField(field)
	}
	line, err := r.Encoder.EncodeEntry(entry, shown)
	if err != nil {
		return nil, err
	}
	text := quote.JSON(line.Bytes()) // the message and the names around the fields are printable
	line.Reset()
	line.AppendBytes(text)
	return line, nil
}

// readableField escapes the bytes of a field's text that are not UTF-8. The encoder writes fields
// as JSON, with escapes for control characters of ASCII; EncodeEntry escapes the others.
func readableField(field zapcore.Field) zapcore.Field {
	switch field.Type {
	case zapcore.StringType:
		field.String = texts.UTF8(field.String)
	case zapcore.ErrorType:
		if err, ok := field.Interface.(error); ok && !texts.Valid(err.Error()) {
			return zap.String(field.Key, texts.UTF8(err.Error()))
		}
	default: // no texts of users
	}
	return field
}
