package cmdline

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestParseWarning(t *testing.T) {
	for _, test := range []struct {
		text string
		want Warning
		err  string
	}{
		{"USR1", Warning{int32(unix.SIGUSR1), time.Minute}, ""},
		{"sigterm@90", Warning{int32(unix.SIGTERM), 90 * time.Second}, ""},
		{"10@0", Warning{10, 0}, ""},
		{"TERM@65535", Warning{int32(unix.SIGTERM), 65535 * time.Second}, ""},
		{"TERM@65536", Warning{}, "at most 65535"},
		{"TERM@1m", Warning{}, "whole number"},
		{"TERM@", Warning{}, "whole number"},
		{"TERM@-1", Warning{}, "whole number"},
		{"B:TERM@5", Warning{}, "there is no signal \"B:TERM\""},
		{"0@5", Warning{}, "there is no signal 0"},
		{"99", Warning{}, "there is no signal 99"},
		{"", Warning{}, "there is no signal"},
	} {
		got, err := ParseWarning(test.text)
		if test.err == "" && (err != nil || got != test.want) {
			t.Errorf("%q: %+v, %v", test.text, got, err)
		}
		if test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%q: %+v, %v", test.text, got, err)
		}
	}
}
