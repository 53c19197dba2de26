package mpidetect

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestSearchPaths: a program's libraries are those that the dynamic loader takes, ld.so(8).
func TestSearchPaths(t *testing.T) {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("gcc is not installed")
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "source.c")
	if err := os.WriteFile(source, []byte("int main(void) { return 0; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	build := func(out string, arguments ...string) {
		t.Helper()
		out = filepath.Join(dir, out)
		if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
			t.Fatal(err)
		}
		arguments = append([]string{source, "-o", out, "-Wl,--no-as-needed"}, arguments...)
		if out, err := exec.Command(gcc, arguments...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	const rpath, runpath = "-Wl,--disable-new-dtags,-rpath,", "-Wl,--enable-new-dtags,-rpath,"
	own, users := filepath.Join(dir, "own"), filepath.Join(dir, "users")
	for _, place := range []string{"own/libinner.so", "users/libinner.so"} {
		build(place, "-shared", "-fPIC", "-Wl,-soname,libinner.so")
	}
	linked := []string{"-L" + own, "-Wl,-rpath-link," + own}
	build("own/libouter.so", append(linked, "-shared", "-fPIC", "-Wl,-soname,libouter.so", "-linner")...)
	build("own/librunpath.so", append(linked, "-shared", "-fPIC", "-Wl,-soname,librunpath.so", "-linner", runpath+users)...)
	for _, c := range []struct {
		name, library, path string
		libraryPath         string
		want                string // where the inner library is; empty: nowhere
	}{
		{"DT_RPATH comes first", "inner", rpath + own, users, own},
		{"LD_LIBRARY_PATH before DT_RUNPATH", "inner", runpath + own, users, users},
		{"one of several in LD_LIBRARY_PATH", "inner", runpath + own, "/nowhere;" + users, users},
		{"DT_RUNPATH alone", "inner", runpath + own, "", own},
		{"DT_RPATH holds for the libraries' libraries", "outer", rpath + own, users, own},
		{"but not for one with DT_RUNPATH", "runpath", rpath + own, "", users},
		{"DT_RUNPATH holds for the program's alone", "outer", runpath + own, "", ""},
		{"and then LD_LIBRARY_PATH", "outer", runpath + own, users, users},
	} {
		t.Run(c.name, func(t *testing.T) {
			build("program", append(linked, "-l"+c.library, c.path)...)
			all, err := Libraries(filepath.Join(dir, "program"), c.libraryPath)
			if c.want == "" {
				if err == nil {
					t.Errorf("found: %v", all)
				}
				return
			}
			found := ""
			for _, l := range all {
				if l.Name == "libinner.so" {
					found = filepath.Dir(l.Path)
				}
			}
			if err != nil || found != c.want {
				t.Errorf("in %q, %v; want %s", found, err, c.want)
			}
		})
	}
}
