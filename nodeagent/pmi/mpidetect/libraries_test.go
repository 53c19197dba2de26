package mpidetect

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestLibraries(t *testing.T) {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("gcc is not installed")
	}
	dir := t.TempDir()
	build := func(text string, arguments ...string) {
		t.Helper()
		source := filepath.Join(dir, "source.c")
		if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(gcc, append([]string{source, "-L" + dir, "-Wl,--allow-shlib-undefined"}, arguments...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	inner, outer, program := filepath.Join(dir, "libinner.so"), filepath.Join(dir, "libouter.so"), filepath.Join(dir, "a.out")
	build("int inner(void) { return 1; }", "-shared", "-fPIC", "-o", inner, "-Wl,-soname,libinner.so")
	build("int inner(void); int outer(void) { return inner(); }", "-shared", "-fPIC", "-o", outer, "-linner", "-Wl,-soname,libouter.so")
	build("int outer(void); int main(void) { return outer(); }", "-o", program, "-louter")

	if _, err := Libraries(program, ""); !errors.Is(err, ErrLibrary) {
		t.Errorf("a library that is nowhere: %v", err)
	}
	all, err := Libraries(program, dir)
	if err != nil {
		t.Fatal(err)
	}
	own := slices.DeleteFunc(slices.Clone(all), func(l Library) bool { return l.System })
	for i := range own { // whether they name the C library depends on gcc's settings
		own[i].Needed = slices.DeleteFunc(own[i].Needed, isBase)
	}
	want := []Library{{Name: "libouter.so", Path: outer, Needed: []string{"libinner.so"}}, {Name: "libinner.so", Path: inner}}
	if diff := cmp.Diff(want, own, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	if !slices.ContainsFunc(all, func(l Library) bool { return l.Base && l.System && l.Name == "libc.so.6" }) {
		t.Errorf("without the C library: %v", all)
	}
	build("int outer(void); int main(void) { return outer(); }", "-o", program, "-louter", "-Wl,--disable-new-dtags,-rpath,$ORIGIN")
	if all, err := Libraries(program, ""); err != nil || all[0].Path != outer {
		t.Errorf("by the program's own path: %v, %v", all, err)
	}
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if all, err := Libraries(script, ""); err != nil || all != nil {
		t.Errorf("a script: %v, %v", all, err)
	}
}

func TestLoaderDirs(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"ld.so.conf": "# comment\ninclude more/*.conf\n/opt/lib # here\nnot/absolute\n", "more/a.conf": "/opt/a\ninclude ../ld.so.conf\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := loaderDirs(filepath.Join(dir, "ld.so.conf"), 0) // which includes itself
	if !slices.Contains(got, "/opt/a") || !slices.Contains(got, "/opt/lib") || slices.Contains(got, "not/absolute") {
		t.Error(got)
	}
}
