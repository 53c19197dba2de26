package fabric

import (
	"os"
	"os/exec"
	"path/filepath"
	"score/nodeagent/launch"
	"score/nodeagent/pmi/mpidetect"
	"strings"
	"testing"
)

// program marks itself as GASNet does when it is compiled with PROVIDERS.
const program = `
#ifdef PROVIDERS
const char mark[] = "$GASNetOfiProvidersSupported: " PROVIDERS " $";
#endif
int main(void) { return 0; }
`

// TestInspect looks at programs as users start them.
func TestInspect(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "a.c")
	if err := os.WriteFile(source, []byte(program), 0o600); err != nil {
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
	compile("uv", "gcc", "-static")
	compile("podman", "gcc", "-static")
	link := []string{"-Wl,--no-as-needed", "-Wl,-rpath," + dir, "-L" + dir}
	shared := func(name string) []string { return append(link, "-shared", "-fPIC", "-Wl,-soname,"+name) }
	const mpi = "libmpi.so.12" // as MPICH calls it
	compile(library, "gcc", shared(library)...)
	compile(mpi, "gcc", append(shared(mpi), "-l:"+library)...)
	compile("overfabric", "gcc", append(link, "-l:"+mpi)...)
	compile("plain", "gcc")
	compile("mpirun.some", "gcc")
	// libmpi of Debian 13 needs libfabric. The empty library that stands for libfabric here would
	// not do.
	linked := []string{"-Wl,--no-as-needed", "-Wl,--allow-shlib-undefined", filepath.Join(dir, library)}
	pm := `-DPROVIDERS="pm"`
	compile("fabric", "gcc", linked...)
	compile("gasnet", "gcc", append(linked, pm)...)
	compile("generic", "gcc", append(linked, `-DPROVIDERS="cxi psm2 sockets"`)...)
	compile("gasnetmpi", "mpicc.openmpi", append(linked, pm, "-lmpi")...)
	compile("genericmpi", "mpicc.openmpi", append(linked, "-lmpi")...)
	compile("libpmix.so.2", "gcc", "-shared", "-fPIC", "-Wl,-soname=libpmix.so.2")
	compile("pmix", "gcc", "-Wl,--no-as-needed", filepath.Join(dir, "libpmix.so.2"))
	compile("genericpmix", "gcc", append(linked, filepath.Join(dir, "libpmix.so.2"))...)
	five := isOpenMPI5(mpidetect.Find(openMPILibrary, dir)) // of Debian 13, but not of Debian 12
	for _, c := range []struct {
		argv []string
		want Program
	}{
		{[]string{"./open", "x"}, Program{Name: "open", Kind: OpenMPI}},
		{[]string{"sh", "-c", "./open"}, Program{Name: "open", Kind: OpenMPI}},
		{[]string{"./mpich"}, Program{Name: "mpich", Kind: OtherMPI}},
		{[]string{"./overfabric"}, Program{Name: "overfabric", Kind: MPICH}},
		{[]string{"./fabric"}, Program{Name: "fabric", Kind: Libfabric}},
		{[]string{"./static"}, Program{Name: "static", Kind: Static}},
		{[]string{"./static", "./open"}, Program{Name: "open", Kind: OpenMPI}},
		{[]string{"./plain"}, Program{Name: "plain", Kind: Unknown}},
		{[]string{"./fabric"}, Program{Name: "fabric", Kind: Libfabric}},
		{[]string{"./gasnet"}, Program{Name: "gasnet", Kind: GASNet}},
		{[]string{"sh", "-c", "./gasnet"}, Program{Name: "gasnet", Kind: GASNet}},
		{[]string{"./generic"}, Program{Name: "generic", Kind: Libfabric}},
		{[]string{"./gasnetmpi"}, Program{Name: "gasnetmpi", Kind: GASNet}},
		{[]string{"./genericmpi"}, Program{Name: "genericmpi", Kind: Libfabric}},
		{[]string{"./pmix"}, Program{Name: "pmix", Kind: Unknown}},
		{[]string{"./genericpmix"}, Program{Name: "genericpmix", Kind: Libfabric}},
		{[]string{"mpirun.some", "-n", "2", "./open"}, Program{Name: "mpirun.some", Kind: Launcher}},
		{[]string{"nice", "mpirun.some", "./open"}, Program{Name: "mpirun.some", Kind: Launcher}},
		{[]string{"./run"}, Program{Name: "run", Kind: Interpreter}},
		{[]string{"sh", "-c", "./elsewhere"}, Program{Name: "sh", Kind: Interpreter}},
		{[]string{"/elsewhere/a.out"}, Program{Name: "a.out", Kind: Unknown}},
		{[]string{"env", "A=b", "open"}, Program{Name: "open", Kind: OpenMPI}},
		{[]string{"timeout", "-k", "9", "60", "nice", "open"}, Program{Name: "open", Kind: OpenMPI}},
		{[]string{"env", "run"}, Program{Name: "run", Kind: Interpreter}},
		{[]string{"./plain", "open"}, Program{Name: "plain", Kind: Unknown}},
		{[]string{"apptainer", "exec", "./image", "./open"}, Program{Name: "open", Kind: OpenMPI, Container: "apptainer"}},
		{[]string{"env", "A=b", "/usr/bin/bwrap", "--ro-bind", "/", "/", "./open"}, Program{Name: "open", Kind: OpenMPI, Container: "bwrap"}},
		{[]string{"uv", "run", "open"}, Program{Name: "open", Kind: OpenMPI}},
		{[]string{"uv", "run", "run"}, Program{Name: "run", Kind: Interpreter}},
		{[]string{"uv", "elsewhere"}, Program{Name: "uv", Kind: Unknown}},
		{[]string{"podman", "run", "image", "/elsewhere"}, Program{Name: "podman", Kind: Unknown, Container: "podman"}},
		{[]string{"./open", "bwrap"}, Program{Name: "open", Kind: OpenMPI}},
		{[]string{"env", "elsewhere"}, Program{Name: "env", Kind: Unknown}},
	} {
		c.want.OpenMPI5 = five && (c.want.Kind == OpenMPI || c.want.Kind == Interpreter)
		c.want.NoWindows = five && c.want.Kind == OpenMPI
		if got := Inspect(c.argv, dir, dir+":"+launch.DefaultPath, dir); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.argv, got, c.want)
		}
	}
}

// TestInspectOpenSHMEM: Sandia's library needs libfabric, and both are found where the loader
// looks.
func TestInspectOpenSHMEM(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("there is no gcc here; .ci/setup test installs it")
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "a.c")
	if err := os.WriteFile(source, []byte("int main(void) { return 0; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, arguments := range [][]string{
		{"libfabric.so.1", "-shared", "-fPIC", "-Wl,-soname,libfabric.so.1"},
		{"libsma.so.0", "-shared", "-fPIC", "-Wl,-soname,libsma.so.0", "-l:libfabric.so.1"},
		{"shmem", "-l:libsma.so.0"},
		{"other", "-l:libfabric.so.1"},
	} {
		flags := append([]string{"-o", filepath.Join(dir, arguments[0]), source, "-L" + dir, "-Wl,-rpath-link," + dir, "-Wl,--no-as-needed"}, arguments[1:]...)
		if out, err := exec.Command("gcc", flags...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for name, want := range map[string]Kind{"shmem": OpenSHMEM, "other": Libfabric} {
		if got := Inspect([]string{"./" + name}, dir, "", dir); got != (Program{Name: name, Kind: want}) {
			t.Errorf("%+v, want kind %d", got, want)
		}
	}
}

// TestInspectEmbedded: an MPICH that was built without a libfabric has one inside its library.
func TestInspectEmbedded(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("there is no gcc here; .ci/setup test installs it")
	}
	dir := t.TempDir()
	const mpi = "libmpi.so.12"
	for _, c := range []struct {
		name, library string
		want          Kind
		why           string // part of the sentence
	}{
		{"loading", `const char *init = "fi_prov_ini"; int fi_getinfo(void) { return 0; }`, EmbeddedMPICH, "loads providers from FI_PROVIDER_PATH"},
		{"closed", `int fi_getinfo(void) { return 0; }`, ClosedMPICH, "loads no providers"},
		{"ucx", `const char *a = "**ofi_getinfo", *b = "OFI fi_getinfo() failed";`, OtherMPI, "does not use libfabric"},
	} {
		source, own := filepath.Join(dir, c.name+".c"), filepath.Join(dir, c.name)
		if err := os.MkdirAll(own, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			text  string
			flags []string
		}{
			{c.library, []string{"-o", filepath.Join(own, mpi), "-shared", "-fPIC", "-Wl,-soname," + mpi}},
			{"int main(void) { return 0; }", []string{"-o", filepath.Join(own, "a.out"), "-Wl,--no-as-needed", "-L" + own, "-l:" + mpi}},
		} {
			if err := os.WriteFile(source, []byte(step.text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command("gcc", append([]string{source}, step.flags...)...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		got := Inspect([]string{"./a.out"}, own, "", own)
		if got != (Program{Name: "a.out", Kind: c.want}) {
			t.Errorf("%s: %+v, want kind %d", c.name, got, c.want)
		}
		choice, err := Choose(Request{Wish: PM, Program: got, Nodes: 1})
		why := choice.Why
		if err != nil {
			why = err.Error()
		}
		if choice.Use != (c.want == EmbeddedMPICH) || !strings.Contains(why, c.why) {
			t.Errorf("%s: %+v, %v; want %q", c.name, choice, err, c.why)
		}
	}
}
