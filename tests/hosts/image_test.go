package hosts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"score/tests/daemons"
	"score/tests/earlier"
	"score/tests/guest"
	"testing"
	"time"
)

const (
	// imageName is the file of the hosts' root in the cache. Its number changes with what is in it.
	imageName = "hosts-bookworm-3.ext4"
	// imageSize is room for the packages, and for what a test writes.
	imageSize = "1500M"
	// imageTime bounds making the image: a minute on an idle machine, most of it downloads.
	imageTime = 8 * time.Minute
	// packages are what a compute host has besides the smallest Debian.
	packages = "systemd,systemd-sysv,dbus,ifupdown,iproute2,kmod,procps,libmpich12"
)

// needImage returns the image, a disk with Debian and two users. It is made once.
func needImage(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("boots hosts; run without -short")
	}
	if os.Getuid() != 0 {
		skip(t, errors.New("only root can make a host's disk with files of all users"))
	}
	ctx, cancel := context.WithTimeout(t.Context(), imageTime)
	defer cancel()
	began := time.Now()
	tool, err := guest.Unpack(ctx, "mmdebstrap")
	if err != nil {
		skip(t, err)
	}
	path, err := guest.Cached(imageName, func(path string) error { return makeImage(ctx, filepath.Join(tool, "usr/bin"), path) })
	if err != nil {
		skip(t, err)
	}
	t.Logf("the disk took %v", time.Since(began).Round(time.Millisecond))
	return path
}

// skip skips the test, and says why. Continuous integration, which sets CI, fails instead.
func skip(t *testing.T, err error) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal("no hosts: ", err)
	}
	t.Skip("no hosts: ", err)
}

// settings is run in the new root.
const settings = `set -eu
: >/etc/machine-id
for user in ann bob; do useradd -m -s /bin/bash $user; done
printf 'auto lo\niface lo inet loopback\nauto vec0\niface vec0 inet static\n\taddress HERE/24\n' >/etc/network/interfaces
printf '127.0.0.1 localhost\n' >/etc/hosts
systemctl mask -q getty@.service console-getty.service apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer
mkdir -p /mnt/packages /var/log/journal
`

func makeImage(ctx context.Context, tools, path string) error {
	work, err := os.MkdirTemp("", "hosts-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	root := filepath.Join(work, "root")
	for _, args := range [][]string{
		{"mmdebstrap", "--mode=root", "--variant=minbase", "--include=" + packages, "bookworm", root},
		{"chroot", root, "sh", "-c", settings},
		{"mke2fs", "-q", "-t", "ext4", "-d", root, path, imageSize},
	} {
		if err := output(ctx, append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH")), args...); err != nil {
			return err
		}
	}
	return nil
}

// output runs a command; its error has what it wrote.
func output(ctx context.Context, env []string, args ...string) error {
	command := exec.CommandContext(ctx, "env", args...)
	command.Env = env
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", args[0], err, bytes.TrimSpace(out))
	}
	return nil
}

// Directories of the packages of a version, below one of the tests.
const (
	present = "present"
	before  = "earlier"
)

// makePackage builds into a directory the Debian package of the programs in binaries, an MPI
// program, and one that uses channels.
func makePackage(ctx context.Context, dir string) error {
	commands := [][]string{
		{"../../packaging/deb/build", filepath.Join(dir, present), "1", binaries},
		{"mpicc.mpich", "-o", filepath.Join(dir, "sum"), "testdata/sum.c"},
		{"CGO_ENABLED=0", "GOFLAGS=-trimpath", "go", "build", "-o", filepath.Join(dir, "exchange"), "../../examples/pm/exchange"},
	}
	for _, args := range commands {
		if err := output(ctx, os.Environ(), args...); err != nil {
			return err
		}
	}
	return nil
}

// earlierPackage builds the package of an earlier version: of the last release, or, in a checkout
// without history, of programs that are as if they were of another version.
func earlierPackage(ctx context.Context, dir string) error {
	tree, err := os.MkdirTemp("", "earlier-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tree)
	err = earlier.Tree(ctx, tree)
	if err == nil {
		return output(ctx, os.Environ(), filepath.Join(tree, "packaging/deb/build"), dir, earlier.Version)
	}
	if !errors.Is(err, earlier.ErrNoHistory) {
		return err
	}
	fmt.Fprintln(os.Stderr, "the upgrade is from this tree, built as another version:", err)
	if err := daemons.BuildProtocols(tree, earlier.Version, 1, 1); err != nil {
		return err
	}
	return output(ctx, os.Environ(), "../../packaging/deb/build", dir, earlier.Version, tree)
}
