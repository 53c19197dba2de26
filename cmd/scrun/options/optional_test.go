package options

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestValuesThatLookLikeThePrograms(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	if err := os.WriteFile(filepath.Join(bin, "usual"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		arguments []string
		err       string
	}{
		{[]string{"--stage", "all", "a.out"}, "all is no program: write --stage=all for the value of that option"},
		{[]string{"-K", "1", "a.out"}, "1 is no program: write --kill-on-bad-exit=1 for the value of that option"},
		{[]string{"-d", "afterok:7", "a.out"}, "afterok:7 is no program: -d detaches the job here; --dependency names the jobs that must start or end first"},
		{[]string{"-d", "singleton", "a.out"}, "singleton is no program: -d detaches the job here; --dependency names the jobs that must start or end first"},
		{[]string{"afterok:7"}, ""},
		{[]string{"-d", "after"}, ""},
		{[]string{"-K", "./1"}, ""},
		{[]string{"all"}, ""},
		{[]string{"-K", "all"}, ""},
		{[]string{"--stage", "usual"}, ""},
		{[]string{"--stage", "--version"}, ""},
	} {
		_, err := parse(t, test.arguments...)
		if got := fmt.Sprint(err); got != cmp.Or(test.err, "<nil>") {
			t.Errorf("%v: %s, want %q", test.arguments, got, test.err)
		}
	}
}
