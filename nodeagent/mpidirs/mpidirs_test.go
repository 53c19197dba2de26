package mpidirs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// own is a prefix that only this run of the tests has.
func own(t *testing.T) string {
	t.Helper()
	prefix := Prefix(t.Name(), fmt.Sprint(os.Getpid()), t.TempDir())
	t.Cleanup(func() {
		for _, path := range Find(prefix) {
			os.RemoveAll(path)
		}
	})
	return prefix
}

// fill makes a job's directories with something in them.
func fill(t *testing.T, name string) {
	t.Helper()
	for _, dir := range []string{Shared(name), Session(name)} {
		if err := os.MkdirAll(filepath.Join(dir, "sub", "closed"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "sub", "file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestNames(t *testing.T) {
	one := Prefix("lab", "n1", "/run/a")
	for _, other := range []string{Prefix("lab", "n2", "/run/a"), Prefix("la", "bn1", "/run/a"), Prefix("lab", "n1", "/run/b")} {
		if other == one {
			t.Error("two agents have one prefix")
		}
	}
	if Prefix("lab", "n1", "/run/a/") != one {
		t.Error("the same directory has two prefixes")
	}
	for _, job := range []uint64{1, 7, 1<<64 - 1} {
		name := Name(one, job)
		if !Valid(name) || Job(one, name) != job || Name(one, job) == name {
			t.Errorf("job %d: %q is read as %d", job, name, Job(one, name))
		}
	}
}

func FuzzValid(f *testing.F) {
	prefix := Prefix("lab", "n1", "/run/a")
	f.Add(Name(prefix, 7))
	for _, bad := range []string{
		"", "..", "score-", prefix + "7", prefix + "7-../../etc",
		prefix + "0-0123456789abcdef", prefix + "99999999999999999999-0123456789abcdef", "x\n" + Name(prefix, 1), Name(prefix, 1) + "\n",
	} {
		f.Add(bad)
	}
	f.Fuzz(func(t *testing.T, name string) {
		job := Job(prefix, name)
		if job != 0 && !Valid(name) {
			t.Errorf("%q is not valid and has job %d", name, job)
		}
		if Valid(name) && (filepath.Base(name) != name || strings.ContainsAny(name, "./\n\x00")) {
			t.Errorf("%q is no plain name", name)
		}
	})
}

func TestRemove(t *testing.T) {
	prefix := own(t)
	name := Name(prefix, 7)
	if err := Remove(t.Context(), name, uint32(os.Geteuid())); err != nil {
		t.Errorf("nothing there: %v", err)
	}
	fill(t, name)
	if err := Remove(t.Context(), name, uint32(os.Geteuid())+1); !errors.Is(err, errOwner) {
		t.Errorf("another's: %v", err)
	}
	if !exists(Shared(name)) || !exists(Session(name)) {
		t.Error("another's is gone")
	}
	if err := Remove(t.Context(), name, uint32(os.Geteuid())); err != nil || len(Find(prefix)) > 0 {
		t.Errorf("%v; left: %v", err, Find(prefix))
	}
}

// A link in the place of a directory, or in it, leads nowhere.
func TestLinksAreNotFollowed(t *testing.T) {
	prefix, outside := own(t), t.TempDir()
	kept := filepath.Join(outside, "kept")
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	name := Name(prefix, 7)
	if err := os.Symlink(outside, Shared(name)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(Session(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(Session(name), "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := Sweep(t.Context(), prefix); !errors.Is(err, errOwner) {
		t.Errorf("a link for a directory: %v", err)
	}
	if !exists(kept) || exists(Session(name)) {
		t.Error("a link was followed, or a directory with one is left")
	}
	os.Remove(Shared(name))
}

func TestSweepTakesOnlyItsOwn(t *testing.T) {
	prefix := own(t)
	other := Prefix(t.Name(), "another", t.TempDir())
	gone, living, foreign := Name(prefix, 1), Name(prefix, 2), Name(other, 1)
	for _, name := range []string{gone, living, foreign} {
		fill(t, name)
	}
	t.Cleanup(func() { _ = Remove(context.Background(), foreign, uint32(os.Geteuid())) })
	const both = 2 // places
	found := slices.DeleteFunc(Find(prefix), func(path string) bool { return filepath.Base(path) == living })
	if n, err := RemoveFound(t.Context(), found); err != nil || n != both {
		t.Errorf("removed %d: %v", n, err)
	}
	if exists(Shared(gone)) || exists(Session(gone)) || !exists(Shared(living)) || !exists(Session(living)) || !exists(Shared(foreign)) {
		t.Errorf("left: %v, %v", Find(prefix), Find(other))
	}
}
