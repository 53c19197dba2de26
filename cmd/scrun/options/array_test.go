package options

import (
	"score/cmd/cmdline"
	"score/scored/api/environ"
	"testing"
)

// TestSetIndex: each job of an array has its index in the environment and in the names of its
// files, and waits for the one that is so many before it.
func TestSetIndex(t *testing.T) {
	o, err := parse(t, "-d", "-a", "4,7,9%2", "--dependency", "afterok:3", "-i", "/in.%a", "-o", "/out.%3a.%t", "prog")
	if err != nil {
		t.Fatal(err)
	}
	here := Process{Environ: []string{"SCORE_ARRAY_INDEX=1", "A=b"}, Dir: "/"}
	spec, err := o.Spec(here)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ index, in, out, dependencies string }{
		{"4", "/in.4", "/out.004.%t", "afterok:3"},
		{"7", "/in.7", "/out.007.%t", "afterok:3"},
		{"9", "/in.9", "/out.009.%t", "afterok:3,afterany:20"},
	} {
		o.SetIndex(spec, o.Array.Indexes[i], []uint64{20, 21, 22}[:i])
		if index := environ.Value(spec.GetEnv(), "SCORE_ARRAY_INDEX"); index != want.index || len(spec.GetEnv()) != 2 {
			t.Errorf("%d: environment %q", i, spec.GetEnv())
		}
		if spec.GetStdinPattern() != want.in || spec.GetStdoutPattern() != want.out || spec.GetStderrPattern() != "" {
			t.Errorf("%d: files %q, %q, %q", i, spec.GetStdinPattern(), spec.GetStdoutPattern(), spec.GetStderrPattern())
		}
		if got := cmdline.FormatDependencies(spec.GetDependencies()); got != want.dependencies {
			t.Errorf("%d: waits for %s, want %s", i, got, want.dependencies)
		}
	}
}
