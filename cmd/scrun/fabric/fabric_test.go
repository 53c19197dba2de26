package fabric

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestChoose(t *testing.T) {
	open, mpich, static := Program{"a.out", OpenMPI}, Program{"a.out", OtherMPI}, Program{"a.out", Static}
	fabric, script := Program{"a.out", Libfabric}, Program{"run.sh", Unknown}
	for _, c := range []struct {
		name    string
		request Request
		auto    bool // the constant
		use     bool
		err     string
	}{
		{"auto, off", Request{Auto, open, 2, ""}, false, false, ""},
		{"auto, several nodes", Request{Auto, open, 2, ""}, true, true, ""},
		{"auto, one node", Request{Auto, open, 1, ""}, true, false, ""},
		{"auto, nodes not said", Request{Auto, open, 0, ""}, true, false, ""},
		{"auto, the user has chosen", Request{Auto, open, 2, "OMPI_MCA_pml"}, true, false, ""},
		{"auto, MPICH", Request{Auto, mpich, 2, ""}, true, false, ""},
		{"auto, libfabric", Request{Auto, fabric, 2, ""}, true, false, ""},
		{"auto, script", Request{Auto, script, 2, ""}, true, false, ""},
		{"pm", Request{PM, open, 0, ""}, false, true, ""},
		{"pm, though the user has chosen", Request{PM, open, 0, "OMPI_MCA_pml"}, false, true, ""},
		{"pm, libfabric", Request{PM, fabric, 1, ""}, false, true, ""},
		{"pm, script", Request{PM, script, 1, ""}, false, true, ""},
		{"pm, MPICH", Request{PM, mpich, 2, ""}, false, false, "a.out was built with an MPI library that does not use libfabric"},
		{"pm, static", Request{PM, static, 2, ""}, false, false, "a.out is static"},
		{"none", Request{None, open, 2, ""}, true, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			choice, err := choose(c.request, c.auto)
			if choice.Use != c.use || (err == nil) != (c.err == "") {
				t.Errorf("%+v, %v", choice, err)
			}
			if silent := c.request == (Request{Auto, script, 2, ""}); err == nil && (choice.Why == "") != silent {
				t.Errorf("the reason: %q", choice.Why)
			}
			if err != nil && (!errors.Is(err, ErrProgram) || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("%v, want %q", err, c.err)
			}
		})
	}
}

func TestParseWish(t *testing.T) {
	for text, want := range map[string]Wish{"auto": Auto, "pm": PM, "none": None} {
		if got, err := ParseWish(text); got != want || err != nil {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	if _, err := ParseWish("tcp"); err == nil {
		t.Error("tcp is no fabric")
	}
}

// withLibrary makes a directory that has the library.
func withLibrary(t *testing.T, dir string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, library), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestEnviron(t *testing.T) {
	own := withLibrary(t, t.TempDir())
	for _, c := range []struct {
		name          string
		env, settings []string
		want          []string // that the environment contains
		kept          []string
	}{
		{name: "empty", want: []string{"LD_LIBRARY_PATH=/l", "FI_PROVIDER=pm", "OMPI_MCA_pml=cm", "OMPI_MCA_mtl=ofi", "IPATH_NO_BACKTRACE=1"}},
		{name: "other libraries", env: []string{"LD_LIBRARY_PATH=/a:/b"}, want: []string{"LD_LIBRARY_PATH=/l:/a:/b"}},
		{
			name: "a libfabric of one's own", env: []string{"LD_LIBRARY_PATH=/a:" + own}, kept: []string{"LD_LIBRARY_PATH"},
			want: []string{"LD_LIBRARY_PATH=/a:" + own, "FI_PROVIDER_PATH=/l"},
		},
		{
			name: "set by the user", env: []string{"OMPI_MCA_pml=ob1", "FI_PROVIDER="}, kept: []string{"FI_PROVIDER", "OMPI_MCA_pml"},
			want: []string{"OMPI_MCA_pml=ob1", "FI_PROVIDER=", "OMPI_MCA_mtl=ofi"},
		},
		{name: "in the user's file", settings: []string{"OMPI_MCA_osc"}, kept: []string{"OMPI_MCA_osc"}, want: []string{"OMPI_MCA_pml=cm"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := slices.Clone(c.env)
			out, kept := Environ(c.env, "/l", c.settings)
			for _, v := range c.want {
				if !slices.Contains(out, v) {
					t.Errorf("no %s in %v", v, out)
				}
			}
			if !slices.Equal(kept, c.kept) || !slices.Equal(c.env, before) {
				t.Errorf("kept %v; %v", kept, c.env)
			}
			for i, v := range out {
				name, _, _ := strings.Cut(v, "=")
				if isSet(out[i+1:], name) {
					t.Errorf("%s twice in %v", name, out)
				}
			}
		})
	}
}

func TestSettings(t *testing.T) {
	home := t.TempDir()
	if got := Settings(home); got != nil {
		t.Errorf("without a file: %v", got)
	}
	if err := os.Mkdir(filepath.Join(home, ".openmpi"), 0o700); err != nil {
		t.Fatal(err)
	}
	text := "# btl = tcp\n\nmtl=^ofi\n pml = ob1\nnonsense\n"
	if err := os.WriteFile(filepath.Join(home, ".openmpi/mca-params.conf"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got := Settings(home)
	if !slices.Equal(got, []string{"OMPI_MCA_mtl", "OMPI_MCA_pml"}) {
		t.Errorf("%v", got)
	}
	if Chosen(nil, got) != "OMPI_MCA_pml" || Chosen([]string{"OMPI_MCA_btl=tcp"}, nil) != "OMPI_MCA_btl" || Chosen([]string{"A=b"}, nil) != "" {
		t.Error("not what the user has chosen")
	}
}

func TestFind(t *testing.T) {
	root := t.TempDir()
	bin := filepath.Join(root, "bin")
	if _, err := Find(Place{Dir: root, Programs: bin}); !errors.Is(err, ErrNoLibrary) || !strings.Contains(err.Error(), root) {
		t.Errorf("a directory without it: %v", err)
	}
	for _, dir := range []string{"build/lib", "lib/score"} { // the later goes first
		want := withLibrary(t, filepath.Join(root, dir))
		if got, err := Find(Place{Programs: bin}); err != nil || got != want && got != "/usr/lib/"+triplets["amd64"]+"/score" {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
	own := withLibrary(t, filepath.Join(root, "own"))
	if got, err := Find(Place{Dir: own, Programs: bin}); err != nil || got != own {
		t.Errorf("%s, %v", got, err)
	}
}

// TestInspect looks at programs as users start them.
func TestInspect(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "a.c")
	if err := os.WriteFile(source, []byte("int main(void) { return 0; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "run"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	compile := func(name, compiler string, flags ...string) {
		if _, err := exec.LookPath(compiler); err != nil {
			t.Skip("there is no " + compiler + " here; .ci/setup test installs it")
		}
		command := exec.Command(compiler, append([]string{"-o", filepath.Join(dir, name), source}, flags...)...)
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	compile("open", "mpicc.openmpi", "-Wl,--no-as-needed", "-lmpi")
	compile("mpich", "mpicc.mpich", "-Wl,--no-as-needed", "-lmpich")
	compile("static", "gcc", "-static")
	compile("plain", "gcc")
	for _, c := range []struct {
		argv []string
		want Program
	}{
		{[]string{"./open", "x"}, Program{"open", OpenMPI}},
		{[]string{"sh", "-c", "./open"}, Program{"open", OpenMPI}},
		{[]string{"./mpich"}, Program{"mpich", OtherMPI}},
		{[]string{"./static"}, Program{"static", Static}},
		{[]string{"./static", "./open"}, Program{"open", OpenMPI}},
		{[]string{"./plain"}, Program{"plain", Unknown}},
		{[]string{"./run"}, Program{"run", Unknown}},
		{[]string{"/elsewhere/a.out"}, Program{"a.out", Unknown}},
	} {
		if got := Inspect(c.argv, dir, "", ""); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.argv, got, c.want)
		}
	}
}
