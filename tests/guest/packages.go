package guest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// cacheName is the directory below the user's cache directory. Its number changes with the layout.
const cacheName = "score-guests-1"

// require skips the test where guests cannot be had, and says why. Continuous integration, which
// sets CI, fails instead.
func require(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case os.Getenv("CI") != "":
		t.Fatal("no guest: ", err)
	default:
		t.Skip("no guest: ", err)
	}
}

// CacheDir makes and returns the directory where what was fetched and made stays.
func CacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(base, cacheName)
	return dir, os.MkdirAll(dir, 0o755)
}

// Cached returns the path of name in the cache. If it is missing, create makes it at another path,
// from which it is moved. Of several processes one makes it.
func Cached(name string, create func(path string) error) (string, error) {
	dir, err := CacheDir()
	if err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(dir, name+".lock"), os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	fresh := path + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return "", err
	}
	defer os.RemoveAll(fresh)
	if err := create(fresh); err != nil {
		return "", fmt.Errorf("make %s: %w", name, err)
	}
	return path, os.Rename(fresh, path)
}

// Unpack fetches a Debian package and unpacks it, once, and returns the directory.
func Unpack(ctx context.Context, name string) (string, error) {
	return Cached(name, func(dir string) error {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		if err := run(ctx, dir, "apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", name); err != nil {
			return err
		}
		files, err := filepath.Glob(filepath.Join(dir, "*.deb"))
		if err != nil || len(files) != 1 {
			return fmt.Errorf("%d files fetched, %w", len(files), err)
		}
		defer os.Remove(files[0])
		return run(ctx, dir, "dpkg-deb", "-x", files[0], dir)
	})
}

// run runs a command; its error has what it wrote.
func run(ctx context.Context, dir, name string, args ...string) error {
	command := exec.CommandContext(ctx, name, args...)
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(out))
	}
	return nil
}

// kernel is User-Mode Linux.
type kernel struct{ program, modules string }

func findKernel(ctx context.Context) (k kernel, err error) {
	if runtime.GOARCH != "amd64" {
		return k, fmt.Errorf("debian has User-Mode Linux for amd64, not for %s", runtime.GOARCH)
	}
	dir, err := Unpack(ctx, "user-mode-linux")
	if err != nil {
		return k, err
	}
	all, err := filepath.Glob(filepath.Join(dir, "usr/lib/uml/modules/*"))
	if err != nil || len(all) != 1 {
		return k, fmt.Errorf("%d directories of modules in the package, %w", len(all), err)
	}
	return kernel{filepath.Join(dir, "usr/bin/linux.uml"), all[0]}, nil
}
