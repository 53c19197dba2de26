package staging

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"score/nodeagent/launch"
	"strings"
	"sync"
	"testing"
	"time"
)

func me() *launch.User { return &launch.User{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())} }

func content(n int, seed byte) ([]byte, File) {
	data := bytes.Repeat([]byte{seed, 1, 2, 3, 5}, n/5+1)[:n]
	return data, File{Sum: sha256.Sum256(data), Size: int64(n)}
}

// of fetches from memory, in pieces.
func of(data []byte) Fetch {
	return func(_ context.Context, from int64, to io.Writer) error {
		for rest := data[from:]; len(rest) > 0; {
			n, err := to.Write(rest[:min(len(rest), 1000)])
			if err != nil {
				return err
			}
			rest = rest[n:]
		}
		return nil
	}
}

func never(context.Context, int64, io.Writer) error { return errors.New("it was fetched") }

func open(t *testing.T, dir string, limit int64) *Cache {
	t.Helper()
	c, err := Open(dir, limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// cacheDir may be entered by other users.
func cacheDir(t *testing.T) string {
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "cache")
}

func TestFetchedOnce(t *testing.T) {
	c := open(t, cacheDir(t), 1<<20)
	data, file := content(100_000, 1)
	begin, fetches := make(chan struct{}), 0
	fetch := func(ctx context.Context, from int64, to io.Writer) error {
		fetches++
		<-begin
		return of(data)(ctx, from, to)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			path, err := c.Get(t.Context(), me(), file, fetch)
			if err != nil {
				t.Error(err)
				return
			}
			if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%s: %d bytes, %v", path, len(got), err)
			}
		})
	}
	close(begin)
	all.Wait()
	if fetches != 1 {
		t.Errorf("%d fetches", fetches)
	}
	path, err := c.Get(t.Context(), me(), file, never)
	if err != nil {
		t.Fatal(err)
	}
	dir, _ := os.Stat(filepath.Dir(path))
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != fileMode || dir.Mode().Perm() != 0o700 {
		t.Errorf("%v in %v: %v", info.Mode(), dir.Mode(), err)
	}
}

func TestWrongBytes(t *testing.T) {
	dir := cacheDir(t)
	c := open(t, dir, 1<<20)
	data, file := content(10_000, 1)
	other, _ := content(10_000, 2)
	for name, fetch := range map[string]Fetch{
		"others":   of(other),
		"too few":  of(data[:9_999]),
		"too many": of(append(bytes.Clone(data), 0)),
	} {
		if _, err := c.Get(t.Context(), me(), file, fetch); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	reason := errors.New("the node was lost")
	if _, err := c.Get(t.Context(), me(), file, func(_ context.Context, _ int64, to io.Writer) error {
		_, _ = to.Write(data[:5000])
		return reason
	}); !errors.Is(err, reason) {
		t.Error(err)
	}
	if names := filesIn(t, dir); len(names) > 0 {
		t.Errorf("left: %v", names)
	}
	if _, err := c.Get(t.Context(), me(), file, of(data)); err != nil {
		t.Errorf("after failures: %v", err)
	}
}

func filesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			names = append(names, filepath.Base(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// An agent that was killed leaves half files, which the next one does not take for whole, and whole
// ones, which it looks at.
func TestCacheAfterKill(t *testing.T) {
	dir := cacheDir(t)
	data, file := content(10_000, 1)
	bad, badFile := content(10_000, 2)
	first := open(t, dir, 1<<20)
	for _, f := range []struct {
		data []byte
		file File
	}{{data, file}, {bad, badFile}} {
		if _, err := first.Get(t.Context(), me(), f.file, of(f.data)); err != nil {
			t.Fatal(err)
		}
	}
	path := first.path(key{me().UID, badFile.Sum})
	if err := os.Chmod(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Repeat([]byte{9}, 10_000), 0o700); err != nil { // of the right length
		t.Fatal(err)
	}
	half := filepath.Join(filepath.Dir(path), strings.Repeat("ab", SumBytes)+partInfix+"123")
	if err := os.WriteFile(half, data[:100], 0o500); err != nil {
		t.Fatal(err)
	}
	next := open(t, dir, 1<<20)
	if _, err := os.Stat(half); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a half file is left: %v", err)
	}
	if _, err := next.Get(t.Context(), me(), file, never); err != nil {
		t.Errorf("a whole file: %v", err)
	}
	if next.Has(me(), badFile) {
		t.Error("other bytes are taken for the file")
	}
	if _, err := next.Get(t.Context(), me(), badFile, of(bad)); err != nil {
		t.Error(err)
	}
	// The same while the agent lives: only the kernel sets ctime.
	if err := os.Chmod(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Repeat([]byte{9}, 10_000), 0o700); err != nil {
		t.Fatal(err)
	}
	if next.Has(me(), badFile) {
		t.Error("a changed file is taken for what it was")
	}
}

func TestLimit(t *testing.T) {
	c := open(t, cacheDir(t), 40_000)
	files := make([]File, 5)
	for i := range files {
		var data []byte
		data, files[i] = content(10_000, byte(10+i))
		if i == 0 {
			c.Hold(7, me(), files[:1])
		}
		if _, err := c.Get(t.Context(), me(), files[i], of(data)); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []bool{true, false, true, true, true} { // the first is held, the others go by age
		if c.Has(me(), files[i]) != want {
			t.Errorf("file %d is here: %v", i, !want)
		}
	}
	c.Hold(8, me(), files)
	data, more := content(10_000, 99)
	if _, err := c.Get(t.Context(), me(), more, of(data)); !errors.Is(err, ErrFull) {
		t.Errorf("all are held: %v", err)
	}
	data, large := content(40_001, 98)
	if _, err := c.Get(t.Context(), me(), large, of(data)); !errors.Is(err, ErrFull) {
		t.Errorf("larger than all: %v", err)
	}
	if got := fmt.Sprint(c.List(0, true)); got != fmt.Sprintf("[{%d 4 40000 4}]", os.Geteuid()) {
		t.Error(got)
	}
	c.Clear(me().UID, false)
	if got := c.List(me().UID, false)[0]; got.Files != 4 {
		t.Errorf("what is held was removed: %v", got)
	}
	c.ReleaseBut(func(job uint64) bool { return job == 7 })
	c.Clear(me().UID+1, false)
	c.Clear(me().UID, false)
	if got := c.List(me().UID, false)[0]; got.Files != 1 {
		t.Errorf("left: %v", got)
	}
	c.Release(7)
	c.Clear(0, true)
	if got := c.List(0, true); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}

// A file goes on to another node while it still comes, and what was cut off is taken up again.
func TestForwardWhileFetching(t *testing.T) {
	c := open(t, cacheDir(t), 1<<30)
	data, file := content(3*readChunk+17, 3)
	first, rest := make(chan struct{}), make(chan struct{})
	got := make(chan error, 1)
	go func() {
		_, err := c.Get(t.Context(), me(), file, func(_ context.Context, _ int64, to io.Writer) error {
			if _, err := to.Write(data[:readChunk]); err != nil {
				return err
			}
			close(first)
			<-rest
			_, err := to.Write(data[readChunk:])
			return err
		})
		got <- err
	}()
	<-first
	var here bytes.Buffer
	halfway := false
	err := c.Send(t.Context(), me(), file, 100, func(piece []byte) error {
		here.Write(piece)
		if here.Len() == readChunk-100 {
			halfway = true
			close(rest) // only after the first part has come through
		}
		return nil
	})
	if err != nil || !halfway || !bytes.Equal(here.Bytes(), data[100:]) {
		t.Errorf("%d bytes, halfway %v: %v", here.Len(), halfway, err)
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
}

// Who waits no longer ends the fetching, unless others wait, too.
func TestCancelled(t *testing.T) {
	dir := cacheDir(t)
	c := open(t, dir, 1<<20)
	data, file := content(10_000, 4)
	begun, ended := make(chan struct{}), make(chan struct{})
	hanging := func(ctx context.Context, _ int64, to io.Writer) error {
		defer close(ended)
		_, _ = to.Write(data[:10])
		close(begun)
		<-ctx.Done()
		return ctx.Err()
	}
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan error, 1)
	go func() {
		_, err := c.Get(ctx, me(), file, hanging)
		got <- err
	}()
	<-begun
	cancel()
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-ended
	if _, err := c.Get(t.Context(), me(), file, of(data)); err != nil {
		t.Errorf("the next one: %v", err)
	}
	c.Close()
	if names := filesIn(t, dir); len(names) != 1 {
		t.Errorf("left: %v", names)
	}
	if _, err := c.Get(t.Context(), me(), file, never); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestAbsent(t *testing.T) {
	c := open(t, cacheDir(t), 1<<20)
	_, file := content(10, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := c.Send(ctx, me(), file, 0, func([]byte) error { return nil }); !errors.Is(err, ErrAbsent) {
		t.Error(err)
	}
}

func TestDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(file, "cache"), 1); err == nil || !strings.Contains(err.Error(), "stage_dir") {
		t.Error(err)
	}
}

// One user can neither read nor replace what another has sent, nor have root act for him by a link.
func TestOfUsers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root runs jobs of several users")
	}
	dir := cacheDir(t)
	c := open(t, dir, 1<<20)
	ann, bob := &launch.User{UID: 4001, GID: 4001}, &launch.User{UID: 4002, GID: 4002}
	data, file := content(1000, 5)
	path, err := c.Get(t.Context(), ann, file, of(data))
	if err != nil {
		t.Fatal(err)
	}
	if c.Has(bob, file) {
		t.Error("bob has ann's file")
	}
	as := func(u *launch.User, f func() error) error { return launch.AsUser(u, f) }
	if err := as(ann, func() error { _, err := os.ReadFile(path); return err }); err != nil {
		t.Errorf("ann: %v", err)
	}
	for what, try := range map[string]func() error{
		"read":    func() error { _, err := os.ReadFile(path); return err },
		"list":    func() error { _, err := os.ReadDir(dir); return err },
		"replace": func() error { return os.Remove(path) },
		"plant":   func() error { return os.WriteFile(filepath.Join(filepath.Dir(path), "x"), nil, 0o600) },
	} {
		if err := as(bob, try); !errors.Is(err, os.ErrPermission) {
			t.Errorf("bob may %s: %v", what, err)
		}
	}
	secret := filepath.Join(filepath.Dir(dir), "secret")
	if err := os.WriteFile(secret, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := as(ann, func() error { return errors.Join(os.Remove(path), os.Symlink(secret, path)) }); err != nil {
		t.Fatal(err)
	}
	if c.Has(ann, file) {
		t.Error("a link is taken for the file")
	}
	if _, err := os.Stat(secret); err != nil {
		t.Error(err)
	}
}

// A user's directory that was made and not yet given to the user is no obstacle: another file of
// the user is about to do that, or an agent died in between.
func TestDirectoryThatIsNotGivenYet(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: only root gives directories to users")
	}
	user := &launch.User{UID: 65534, GID: 65534}
	dir := cacheDir(t)
	c := open(t, dir, 1<<20)
	if err := os.MkdirAll(c.userDir(user.UID), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	data, file := content(1000, 1)
	if _, err := c.Get(t.Context(), user, file, of(data)); err != nil {
		t.Error(err)
	}
}
