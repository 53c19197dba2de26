// Package earlier gives tests of upgrades the sources of an earlier version of this repository,
// from its history.
package earlier

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// first is upgraded from until there is a release. It is fixed, so that a test that fails can be
// repeated.
const first = "c2f20ea072de89ad6f6aeadd39ac7c902b600394"

// Version is the version that programs made by Build report. It is less than that of any release.
const Version = "0~earlier"

// ErrNoHistory means that the checkout has no earlier version: it is shallow, or no repository.
var ErrNoHistory = errors.New("the checkout has no earlier version; git fetch --unshallow --tags brings it")

// Tree writes the sources of the last release before the present commit into a directory. The error
// is ErrNoHistory if the checkout has none.
func Tree(ctx context.Context, dir string) error {
	commit, err := git(ctx, "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", "HEAD^")
	if err != nil {
		commit = first
	}
	if _, err := git(ctx, "cat-file", "-e", commit+"^{tree}"); err != nil {
		return fmt.Errorf("%w: %w", ErrNoHistory, err)
	}
	archive := filepath.Join(dir, "tree.tar")
	if _, err := git(ctx, "archive", "-o", archive, commit); err != nil {
		return err
	}
	defer os.Remove(archive)
	_, err = run(ctx, dir, "tar", "-xf", archive)
	return err
}

// Build builds the programs of a tree into its directory bin, pm/exchange below it among them, and
// the libraries for MPI programs into build/lib, where scrun finds them.
func Build(ctx context.Context, tree string) error {
	for _, command := range [][]string{
		{"-o", "bin/", "./cmd/scored", "./cmd/scrun"},
		{"-o", "bin/pm/exchange", "./examples/pm/exchange"},
	} {
		line := append([]string{"CGO_ENABLED=0", "GOFLAGS=-trimpath", "go", "build", "-ldflags", "-X score/scored/api.version=" + Version}, command...)
		if _, err := run(ctx, tree, "env", line...); err != nil {
			return err
		}
	}
	_, err := run(ctx, tree, "pm/lib/build", "build/lib")
	return err
}

func git(ctx context.Context, args ...string) (string, error) {
	top, err := run(ctx, ".", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return "", err
	}
	return run(ctx, top, "git", args...)
}

// run returns what a command writes, without its last newline. The error has what it writes as
// errors.
func run(ctx context.Context, dir, name string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, name, args...)
	command.Dir = dir
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.TrimSpace(string(out)), nil
}
