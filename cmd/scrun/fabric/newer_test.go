package fabric

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestInspectNewer: the loader refuses programs that were linked with a newer libfabric than that
// of the channels, whether they or their MPI library call it.
func TestInspectNewer(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("there is no gcc here; .ci/setup test installs it")
	}
	const mpi = "libmpi.so.12"
	for _, c := range []struct {
		version     string
		direct, mpi Kind
	}{
		{"FABRIC_1.3", Libfabric, MPICH},
		{"FABRIC_1.6", Libfabric, MPICH},
		{"FABRIC_1.9", Libfabric, MPICH},
		{"FABRIC_1.10", Newer, Newer},
	} {
		dir := t.TempDir()
		file := func(name, text string) string {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}
		compile := func(name string, flags ...string) {
			if out, err := exec.Command("gcc", append(flags, "-o", filepath.Join(dir, name))...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		script := file("map", c.version+" { global: fi_getinfo; };")
		compile(library, "-shared", "-fPIC", "-Wl,-soname,"+library, "-Wl,--version-script="+script,
			file("fabric.c", "int fi_getinfo(void) { return 0; }"))
		caller := file("caller.c", "int fi_getinfo(void); int MPI_Init(void) { return fi_getinfo(); }")
		compile(mpi, "-shared", "-fPIC", "-Wl,-soname,"+mpi, caller, filepath.Join(dir, library))
		compile("direct", "-DMPI_Init=main", caller, filepath.Join(dir, library))
		compile("mpich", file("main.c", "int MPI_Init(void); int main(void) { return MPI_Init(); }"), filepath.Join(dir, mpi), "-Wl,-rpath-link,"+dir)
		for name, want := range map[string]Kind{"direct": c.direct, "mpich": c.mpi} {
			if got := Inspect([]string{"./" + name}, dir, "", dir); got != (Program{Name: name, Kind: want}) {
				t.Errorf("%s: %+v, want kind %d", c.version, got, want)
			}
		}
	}
}

// TestChosenOfMPICH: users of MPICH choose a provider by its own variable, too.
func TestChosenOfMPICH(t *testing.T) {
	for text, want := range map[string]string{
		"MPIR_CVAR_OFI_USE_PROVIDER=sockets": "MPIR_CVAR_OFI_USE_PROVIDER",
		"MPIR_CVAR_OFI_USE_PROVIDER=pm":      "",
		"MPIR_CVAR_OFI_USE_PROVIDER=":        "",
	} {
		if got := Chosen([]string{text}, nil); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestOwnLibfabric: a libfabric in LD_LIBRARY_PATH is the user's own; one that is missing is not.
func TestOwnLibfabric(t *testing.T) {
	dir := t.TempDir()
	env := []string{libraryPath + "=/elsewhere:" + dir}
	if OwnLibfabric(env) {
		t.Error("there is none yet")
	}
	if err := os.WriteFile(filepath.Join(dir, library), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if !OwnLibfabric(env) {
		t.Error("it is not found")
	}
}

// TestAutoSaysHow: where auto leaves a program its own network, -v says how it gets channels, if it
// can.
func TestAutoSaysHow(t *testing.T) {
	for kind, says := range map[Kind]bool{MPICH: true, EmbeddedMPICH: true, Libfabric: true, ClosedMPICH: false, OtherMPI: false, Newer: false} {
		choice, err := Choose(Request{Program: Program{Name: "a.out", Kind: kind}, Nodes: 2})
		if err != nil || choice.Use || strings.Contains(choice.Why, "--fabric pm") != says {
			t.Errorf("kind %d: %+v, %v", kind, choice, err)
		}
	}
}
