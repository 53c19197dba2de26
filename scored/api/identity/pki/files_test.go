package pki

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	at := &clock{epoch}
	if _, err := Load(dir, at.now); !errors.Is(err, fs.ErrNotExist) || Joined(dir) {
		t.Fatal(err)
	}
	a := newAuthority(t)
	if err := a.Save(dir); err != nil {
		t.Fatal(err)
	}
	c := daemon(t, a, Name{"c1", Server, "s1"}, at.now)
	if err := c.Save(dir); err != nil {
		t.Fatal(err)
	}
	got, err := Load(dir, at.now)
	if err != nil {
		t.Fatal(err)
	}
	if got.Name() != c.Name() || string(got.Serial()) != string(c.Serial()) || !Joined(dir) {
		t.Errorf("%v, want %v", got.Name(), c.Name())
	}
	authority, err := LoadAuthority(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err, _ := shake(t, got.Server(Agent), daemon(t, authority, Name{"c1", Agent, "n1"}, at.now).Client(Server)); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestServersFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	if got := ReadServers(dir); got != nil {
		t.Error(got)
	}
	want := []string{"s1:7420", "[fd00::1]:7420"}
	if err := SaveServers(dir, want); err != nil {
		t.Fatal(err)
	}
	if got := ReadServers(dir); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestBadFiles: each is refused with a sentence.
func TestBadFiles(t *testing.T) {
	at := &clock{epoch}
	for name, c := range map[string]struct {
		spoil   func(dir string) error
		mention string
	}{
		"open to others": {func(dir string) error { return os.Chmod(filepath.Join(dir, DaemonFile), 0o640) }, "chmod 600"},
		"torn":           {func(dir string) error { return os.Truncate(filepath.Join(dir, DaemonFile), 300) }, "join again"},
		"empty":          {func(dir string) error { return os.Truncate(filepath.Join(dir, DaemonFile), 0) }, "join again"},
		"gone":           {func(dir string) error { return os.Remove(filepath.Join(dir, DaemonFile)) }, "has not joined"},
		"rubbish":        {func(dir string) error { return os.WriteFile(filepath.Join(dir, AuthorityFile), []byte("x"), 0o600) }, "holds no certificate"},
		"link": {func(dir string) error {
			path := filepath.Join(dir, DaemonFile)
			return errors.Join(os.Rename(path, path+".x"), os.Symlink(path+".x", path))
		}, "is a symbolic link"},
		"directory": {func(dir string) error {
			path := filepath.Join(dir, DaemonFile)
			return errors.Join(os.Remove(path), os.Mkdir(path, 0o700))
		}, "is not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := daemon(t, newAuthority(t), Name{"c1", Agent, "n1"}, at.now).Save(dir); err != nil {
				t.Fatal(err)
			}
			if err := c.spoil(dir); err != nil {
				t.Fatal(err)
			}
			if _, err := Load(dir, at.now); !errors.Is(err, ErrFiles) || !strings.Contains(err.Error(), c.mention) {
				t.Error(err)
			}
		})
	}
}

// FuzzRequestKey: whatever comes, there is a key or an error.
func FuzzRequestKey(f *testing.F) {
	request, err := NewRequest()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(request.Bytes())
	f.Fuzz(func(t *testing.T, der []byte) {
		if key, err := requestKey(der); err == nil && key == nil {
			t.Fatal("no key and no error")
		}
	})
}
