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

// Relative names of files count from the directory of -D, also if scrun opens them itself.
func TestFilesInDirectory(t *testing.T) {
	for _, c := range []struct{ dir, name, opened, submitted string }{
		{"", "sub/../x", "sub/../x", "/home/x"},
		{"run", "x", "run/x", "/home/run/x"},
		{"../run", "./all", "../run/all", "/run/all"},
		{"100%", "x", "100%%/x", "/home/100%%/x"},
		{"/run", "x", "/run/x", "/run/x"},
		{"run", "/x", "/x", "/x"},
	} {
		for _, detach := range []string{"--detach=false", "--detach"} {
			o, err := parse(t, detach, "-D", c.dir, "-i", c.name, "-o", c.name, "prog")
			if err != nil {
				t.Fatal(err)
			}
			if o.Stdin.Pattern.String() != c.opened || o.Stdout != o.Stdin || o.InputByNodes() {
				t.Errorf("-D %s: %s, %s", c.dir, o.Stdin.Pattern.String(), o.Stdout.Pattern.String())
			}
			spec, err := o.Spec(Process{Dir: "/home"})
			if err != nil {
				t.Fatal(err)
			}
			if o.Detach && (spec.GetStdinPattern() != c.submitted || spec.GetStdoutPattern() != c.submitted) {
				t.Errorf("-D %s: %s, %s", c.dir, spec.GetStdinPattern(), spec.GetStdoutPattern())
			}
		}
	}
}
