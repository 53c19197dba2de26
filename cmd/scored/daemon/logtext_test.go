package daemon

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// An entry is one line that can be read, and shows the bytes of what is not UTF-8.
func TestEntriesAreReadable(t *testing.T) {
	var out bytes.Buffer
	encoder := readable{zapcore.NewConsoleEncoder(zapcore.EncoderConfig{MessageKey: "m", LineEnding: "\n"})}
	log := zap.New(zapcore.NewCore(encoder, zapcore.AddSync(&out), zap.DebugLevel)).With(zap.String("with", "w\xfc"))
	fields := []zap.Field{zap.String("path", "/d\xff"), zap.Error(errors.New("open /d\xfe")), zap.Error(nil), zap.Int("n", 1), zap.String("plain", "ä")}
	log.Info("open /d\xfd\n\x1b[31m: no such file", fields...)
	want := `open /d\xfd\n\x1b[31m: no such file` + "\t" + `{"with": "w\\xfc", "path": "/d\\xff", "error": "open /d\\xfe", "n": 1, "plain": "ä"}` + "\n"
	if got := out.String(); got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
	if !strings.Contains(fields[0].String, "\xff") {
		t.Error("the caller's field was changed")
	}
}
