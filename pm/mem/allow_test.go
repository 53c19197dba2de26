package mem

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAllow(t *testing.T) {
	for _, c := range []struct {
		scope  string
		refuse error
		asks   bool
		want   error
	}{
		{scope: "0\n"},
		{scope: "1\n", asks: true},
		{scope: "1\n", refuse: unix.EINVAL, asks: true, want: ErrDenied},
		{scope: "2\n", want: ErrDenied},
		{scope: "3\n", want: ErrDenied},
		{scope: "", want: ErrDenied},
		{scope: "11\n", want: ErrDenied},
	} {
		path := filepath.Join(t.TempDir(), "ptrace_scope")
		if err := os.WriteFile(path, []byte(c.scope), 0o600); err != nil {
			t.Fatal(err)
		}
		asked := ""
		err := allow(path, func(option int, who, a, b, d uintptr) error {
			asked += fmt.Sprint(option, " ", who, a, b, d)
			return c.refuse
		})
		want := ""
		if c.asks {
			want = fmt.Sprint(unix.PR_SET_PTRACER, " ", uintptr(unix.PR_SET_PTRACER_ANY), " 0 0 0")
		}
		if asked != want {
			t.Errorf("%q: asked the kernel %q", c.scope, asked)
		}
		if c.want == nil && err != nil {
			t.Errorf("%q: %v", c.scope, err)
		} else {
			wantError(t, fmt.Sprintf("%q", c.scope), err, c.want)
		}
	}
	if err := allow(filepath.Join(t.TempDir(), "none"), nil); err != nil {
		t.Errorf("without Yama: %v", err)
	}
	wantError(t, "a file in its path", allow("/dev/null/ptrace_scope", nil), ErrDenied)
}
