package environ

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValue(t *testing.T) {
	env := []string{"A=1", "B=", "AB=2", "A=3", "C=4=5", "ODD"}
	for name, want := range map[string]string{"A": "1", "B": "", "AB": "2", "C": "4=5", "ODD": "", "D": ""} {
		if got := Value(env, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestOverride(t *testing.T) {
	env := []string{"A=1", "B=2", "ODD"}
	for _, test := range []struct{ with, want []string }{
		{nil, []string{"A=1", "B=2", "ODD"}},
		{[]string{"B=3", "C=4"}, []string{"A=1", "ODD", "B=3", "C=4"}},
		{[]string{"A=5", "A=6", "nameless", "=x"}, []string{"B=2", "ODD", "A=6"}},
	} {
		if diff := cmp.Diff(test.want, Override(env, test.with)); diff != "" {
			t.Errorf("%q: %s", test.with, diff)
		}
	}
}
