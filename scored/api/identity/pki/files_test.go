package pki

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
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

// A daemon joins again if its certificate is damaged or too old, not if it is good or only the
// clock or the mode of the file is wrong.
func TestNeedsToken(t *testing.T) {
	truncate := func(file string) func(string) error {
		return func(dir string) error { return os.Truncate(filepath.Join(dir, file), 300) }
	}
	for name, c := range map[string]struct {
		spoil func(dir string) error
		now   time.Duration
		want  bool
	}{
		"good":           {func(string) error { return nil }, 0, false},
		"torn":           {truncate(DaemonFile), 0, true},
		"torn authority": {truncate(AuthorityFile), 0, true},
		"no authority":   {func(dir string) error { return os.Remove(filepath.Join(dir, AuthorityFile)) }, 0, true},
		"expired":        {func(string) error { return nil }, 2 * DefaultLife, true},
		"of tomorrow":    {func(string) error { return nil }, -24 * time.Hour, false},
		"open to others": {func(dir string) error { return os.Chmod(filepath.Join(dir, DaemonFile), 0o640) }, 0, false},
	} {
		dir, at := t.TempDir(), &clock{epoch}
		if err := errors.Join(daemon(t, newAuthority(t), Name{"c1", Agent, "n1"}, at.now).Save(dir), c.spoil(dir)); err != nil {
			t.Fatal(err)
		}
		if got := NeedsToken(dir, func() time.Time { return epoch.Add(c.now) }); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The key of the authority that is damaged, or another's.
func TestBadAuthorityKey(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"torn":      func(path string) error { return os.Truncate(path, 100) },
		"empty":     func(path string) error { return os.Truncate(path, 0) },
		"another's": func(path string) error { return newAuthority(t).Save(filepath.Dir(path)) },
	} {
		dir := t.TempDir()
		authority := newAuthority(t)
		err := errors.Join(authority.Save(dir), spoil(filepath.Join(dir, AuthorityKeyFile)), saveAuthority(dir, authority.Certificate()))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := LoadAuthority(dir); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "from another server") {
			t.Errorf("%s: %v", name, err)
		}
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
