package options

import (
	"slices"
	"testing"
)

// Arguments, variables and directories are carried byte by byte.
func TestTextsAreBytes(t *testing.T) {
	const odd = "g\xfcnstig"
	o, err := parse(t, "-d", "-i", "in\xff", "-o", "out\xfe.%t", "--stage-file", odd, odd, "a", "\xff\xfe")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := o.Spec(Process{Dir: "/home/" + odd, Environ: []string{"A=1", "B\xff=" + odd}})
	if err != nil {
		t.Fatal(err)
	}
	if spec.GetName() != `g\xfcnstig` || !slices.Equal(spec.GetArgv(), []string{odd, "a", "\xff\xfe"}) ||
		!slices.Equal(spec.GetEnv(), []string{"A=1", "B\xff=" + odd}) || spec.GetWorkDir() != "/home/"+odd ||
		spec.GetStdoutPattern() != "/home/"+odd+"/out\xfe.%t" && spec.GetStdoutPattern() != "out\xfe.%t" || !slices.Equal(o.StageFiles, []string{odd}) {
		t.Errorf("%q", spec)
	}
	if o, err = parse(t, "-D", "/"+odd, "prog"); err != nil {
		t.Fatal(err)
	}
	if spec, err := o.Spec(Process{Dir: "/"}); err != nil || spec.GetWorkDir() != "/"+odd {
		t.Errorf("%q, %v", spec, err)
	}
}
