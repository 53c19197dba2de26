package mpidirs

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"score/nodeagent/launch"
	"score/nodeagent/userfs"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

const (
	// sharedPlace is where POSIX shared memory is on Linux, see shm_overview(7).
	sharedPlace = "/dev/shm"
	// sessionPlace is the place of files that need not outlive a boot.
	sessionPlace = "/tmp"
	// agentBytes tell the agents of a machine apart. Few, since sockets may be made
	// in the directories, whose names the kernel limits to 107 bytes.
	agentBytes = 6
	// randomBytes are more than anybody can guess who would take the name first.
	randomBytes = 8
)

// form matches all names.
var form = regexp.MustCompile(`^score-[0-9a-f]{12}-[1-9][0-9]{0,19}-[0-9a-f]{16}$`)

// Prefix is what the names of an agent's directories begin with. Two agents that run
// at once have not the same run directory.
func Prefix(cluster, node, runDir string) string {
	sum := sha256.Sum256([]byte(cluster + "\x00" + node + "\x00" + filepath.Clean(runDir)))
	return "score-" + hex.EncodeToString(sum[:agentBytes]) + "-"
}

// Name is a new name for a job's directories.
func Name(prefix string, job uint64) string {
	var random [randomBytes]byte
	rand.Read(random[:]) // never fails
	return prefix + strconv.FormatUint(job, 10) + "-" + hex.EncodeToString(random[:])
}

// Valid reports whether a name can be one of Name's.
func Valid(name string) bool { return form.MatchString(name) }

// Shared is the directory for shared memory.
func Shared(name string) string { return filepath.Join(sharedPlace, name) }

// Session is the directory for all else.
func Session(name string) string { return filepath.Join(sessionPlace, name) }

// Job is the number in a name; 0 if it is none of the prefix's.
func Job(prefix, name string) uint64 {
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok || !Valid(name) {
		return 0
	}
	digits, _, _ := strings.Cut(rest, "-")
	job, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0
	}
	return job
}

// errOwner means that a name is taken by another user.
var errOwner = errors.New("it is not the job's user's")

// Remove removes a job's directories with all that is in them, if they are the user's.
// Those that do not exist are no error.
func Remove(ctx context.Context, name string, uid uint32) error {
	if !Valid(name) {
		return nil
	}
	owned := func(owner uint32) bool { return owner == uid }
	return errors.Join(remove(ctx, Shared(name), owned), remove(ctx, Session(name), owned))
}

// Sweep removes the directories of a prefix's names, and tells how many there were.
func Sweep(ctx context.Context, prefix string) (removed int, err error) {
	return RemoveFound(ctx, Find(prefix))
}

// RemoveFound removes directories that Find has found, and tells how many.
func RemoveFound(ctx context.Context, paths []string) (removed int, err error) {
	// The job's user is not known any more. Only root can remove others' files; if a user has taken
	// such a name, the files removed are the user's own.
	euid := os.Geteuid()
	owned := func(owner uint32) bool { return euid == 0 || int(owner) == euid }
	var failed []error
	for _, path := range paths {
		if err := remove(ctx, path, owned); err != nil {
			failed = append(failed, err)
			continue
		}
		removed++
	}
	return removed, errors.Join(failed...)
}

// Find lists the paths of a prefix's names.
func Find(prefix string) (paths []string) {
	for _, place := range []string{sharedPlace, sessionPlace} {
		paths = append(paths, findIn(place, prefix)...)
	}
	return paths
}

// findIn keeps no other names: users may make millions of them.
func findIn(place, prefix string) (paths []string) {
	dir, err := os.Open(place)
	if err != nil {
		return nil // the host has no such place
	}
	defer dir.Close()
	for {
		names, err := dir.Readdirnames(nameBatch)
		for _, name := range names {
			if Job(prefix, name) != 0 {
				paths = append(paths, filepath.Join(place, name))
			}
		}
		if err != nil {
			slices.Sort(paths)
			return paths
		}
	}
}

// remove removes a directory with the rights of its owner alone. Its owner may
// replace it at any time, but nobody else, since its place is sticky.
func remove(ctx context.Context, path string, owned func(uid uint32) bool) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("removing a job's directory: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || !owned(stat.Uid) {
		return fmt.Errorf("removing a job's directory %s: %w", path, errOwner)
	}
	owner := &launch.User{UID: stat.Uid, GID: stat.Gid}
	if err := launch.AsUser(owner, func() error { return userfs.RemoveAll(ctx, path) }); err != nil {
		return fmt.Errorf("removing a job's directory %s: %w", path, err)
	}
	return nil
}
