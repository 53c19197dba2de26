package daemon

import (
	"bytes"
	"errors"
	"regexp"
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
	fields := []zap.Field{
		zap.String("path", "/d\xff"), zap.Error(errors.New("open /d\xfe")), zap.Error(nil), zap.Int("n", 1), zap.String("plain", "ä\u009b\x7f"),
	}
	log.Info("open /d\xfd\n\x1b[31m: no such file", fields...)
	want := `open /d\xfd\n\x1b[31m: no such file` + "\t" + `{"with": "w\\xfc", "path": "/d\\xff", "error": "open /d\\xfe", "n": 1, "plain": "ä\u009b\u007f"}` + "\n"
	if got := out.String(); got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
	if !strings.Contains(fields[0].String, "\xff") {
		t.Error("the caller's field was changed")
	}
}

// In the journal an entry has its priority and no time; elsewhere it has its time.
func TestEntriesInTheJournal(t *testing.T) {
	for inJournal, want := range map[bool]string{
		true: "<7>debug\tone\t{\"with\": \"w\"}\n" +
			"<6>info\ttwo\\nlines\t{\"with\": \"w\"}\n" +
			"<4>warn\tthree\t{\"with\": \"w\"}\n" +
			"<3>error\tfour\t{\"with\": \"w\"}\n" +
			"<2>dpanic\tfive\t{\"with\": \"w\"}\n",
		false: "TIME\tdebug\tone\t{\"with\": \"w\"}\n" +
			"TIME\tinfo\ttwo\\nlines\t{\"with\": \"w\"}\n" +
			"TIME\twarn\tthree\t{\"with\": \"w\"}\n" +
			"TIME\terror\tfour\t{\"with\": \"w\"}\n" +
			"TIME\tdpanic\tfive\t{\"with\": \"w\"}\n",
	} {
		var out bytes.Buffer
		log := zap.New(zapcore.NewCore(newEncoder(inJournal), zapcore.AddSync(&out), zap.DebugLevel)).With(zap.String("with", "w"))
		log.Debug("one")
		log.Info("two\nlines")
		log.Warn("three")
		log.Error("four")
		log.DPanic("five")
		got := regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d{4})`).ReplaceAllString(out.String(), "TIME")
		if got != want {
			t.Errorf("in the journal %v: %q\nwant %q", inJournal, got, want)
		}
	}
}
