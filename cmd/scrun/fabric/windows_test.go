package fabric

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// TestNoWindows: a program of Open MPI 5 has no windows only if nothing in it, and nothing that it
// may load or spawn, can make some.
func TestNoWindows(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("there is no gcc here; .ci/setup test installs it")
	}
	dir := t.TempDir()
	compile := func(name, text string, flags ...string) {
		t.Helper()
		source := filepath.Join(dir, name+".c")
		if err := os.WriteFile(source, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		flags = append([]string{"-o", filepath.Join(dir, name), source, "-L" + dir, "-Wl,--no-as-needed", "-Wl,-rpath-link," + dir}, flags...)
		if out, err := exec.Command("gcc", flags...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	library := func(soname, text string, flags ...string) {
		t.Helper()
		compile(soname, text, append([]string{"-shared", "-fPIC", "-Wl,-soname," + soname}, flags...)...)
	}
	// calls is the text of a function that calls another one.
	calls := func(caller, called string) string {
		return "void " + called + "(void); int " + caller + "(void) { " + called + "(); return 0; } "
	}
	// Open MPI's own libraries load components and make windows; a library of the user's does, too.
	library("libopen-pal.so.80", calls("f", "dlopen"))
	library(openMPILibrary, "void MPI_Init(void) {} void MPI_Win_create(void) {} void MPI_Comm_spawn(void) {}", "-l:libopen-pal.so.80")
	const file = openMPILibrary + ".40.7"
	if err := os.Rename(filepath.Join(dir, openMPILibrary), filepath.Join(dir, file)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, filepath.Join(dir, openMPILibrary)); err != nil {
		t.Fatal(err)
	}
	const mpi = "-l:" + openMPILibrary
	library("libmpi_mpifh.so.40", calls("mpi_init_", "MPI_Init")+calls("mpi_win_create_", "MPI_Win_create"), mpi)
	library("libwindows.so.1", calls("make", "MPI_Win_create"), mpi)
	library("libplugins.so.1", calls("plug", "dlopen"))
	const fortran = "-l:libmpi_mpifh.so.40"
	for _, c := range []struct {
		name, called string
		flags        []string
		want         bool
	}{
		{"messages", "MPI_Init", []string{mpi}, true},
		{"fortran", "mpi_init_", []string{fortran, mpi}, true},
		{"windows", "MPI_Win_create", []string{mpi}, false},
		{"fortranwindows", "mpi_win_create_", []string{fortran, mpi}, false},
		{"spawns", "MPI_Comm_spawn", []string{mpi}, false},
		{"loads", "dlopen", []string{mpi}, false},
		{"library", "make", []string{"-l:libwindows.so.1", mpi}, false},
		{"plugins", "plug", []string{"-l:libplugins.so.1", mpi}, false},
	} {
		compile(c.name, calls("main", c.called), c.flags...)
		want := Program{Name: c.name, Kind: OpenMPI, OpenMPI5: true, NoWindows: c.want}
		if got := Inspect([]string{"./" + c.name}, dir, "", dir); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	if !imports(filepath.Join(dir, "messages.c"), nil) {
		t.Error("it is known what a file that is no program calls")
	}
	for _, ifAble := range []bool{false, true} {
		for noWindows, want := range map[bool]string{false: "self,vader,ofi", true: "self,vader"} {
			if ifAble {
				want = "^uct,openib"
			}
			got, _ := Environ(nil, "/l", Target{IfAble: ifAble, OpenMPI5: true, NoWindows: noWindows}, nil)
			if !slices.Contains(got, btl+"="+want) {
				t.Errorf("if able: %v, no windows: %v: no %s in %v", ifAble, noWindows, want, got)
			}
		}
	}
}
