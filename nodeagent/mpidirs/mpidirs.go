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
	"score/nodeagent/privateshm"
	"score/nodeagent/userfs"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Hardware is the name of the file with the description of the host's hardware (package hardware),
// beside the jobs' directories. The variable that names it to MPI libraries is known by it.
const Hardware = "score-hardware.xml"

const (
	// sessionPlace is the place of files that need not outlive a boot.
	sessionPlace = "/tmp"
	// agentBytes is the number of bytes that identify an agent of the machine. It is small, since
	// sockets may be made in the directories, and the kernel limits their paths to 107 bytes.
	agentBytes = 6
	// randomBytes is large enough that nobody can guess a name and take it first.
	randomBytes = 8
)

// form matches all names.
var form = regexp.MustCompile(`^score-[0-9a-f]{12}-[1-9][0-9]{0,19}-[0-9a-f]{16}$`)

// Prefix returns the prefix of the names of an agent's directories. Two agents that run at the same
// time have different run directories.
func Prefix(cluster, node, runDir string) string {
	sum := sha256.Sum256([]byte(cluster + "\x00" + node + "\x00" + filepath.Clean(runDir)))
	return "score-" + hex.EncodeToString(sum[:agentBytes]) + "-"
}

// Name returns a new name for a job's directories.
func Name(prefix string, job uint64) string {
	var random [randomBytes]byte
	rand.Read(random[:]) // never fails
	return prefix + strconv.FormatUint(job, 10) + "-" + hex.EncodeToString(random[:])
}

// Valid reports whether Name can have returned the name.
func Valid(name string) bool { return form.MatchString(name) }

// Shared returns the directory for shared memory.
func Shared(name string) string { return filepath.Join(privateshm.Place, name) }

// Session returns the directory for other files.
func Session(name string) string { return filepath.Join(sessionPlace, name) }

// Job returns the job's number in a name, 0 if the name does not have the prefix.
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

// Remove removes a job's directories with their contents, if they are the user's. Missing
// directories are no error.
func Remove(ctx context.Context, name string, uid uint32) error {
	if !Valid(name) {
		return nil
	}
	owned := func(owner uint32) bool { return owner == uid }
	return errors.Join(remove(ctx, Shared(name), owned), remove(ctx, Session(name), owned))
}

// Sweep removes the directories with a prefix, and returns their number.
func Sweep(ctx context.Context, prefix string) (removed int, err error) {
	return RemoveFound(ctx, Find(prefix))
}

// RemoveFound removes directories that Find has found, and returns their number.
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

// Find lists the paths of the directories with a prefix.
func Find(prefix string) (paths []string) {
	for _, place := range []string{privateshm.Place, sessionPlace} {
		paths = append(paths, findIn(place, prefix)...)
	}
	return paths
}

// findIn returns the paths in one place. It keeps no other names: users may make millions of them.
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

// remove removes a directory with the rights of its owner alone. Only its owner can replace it
// meanwhile, since its place is sticky.
func remove(ctx context.Context, path string, owned func(uid uint32) bool) error {
	st, err := userfs.StatEntry(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("removing a job's directory: %w", err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || !owned(st.Uid) {
		return fmt.Errorf("removing a job's directory %s: %w", path, errOwner)
	}
	owner := &launch.User{UID: st.Uid, GID: st.Gid}
	if err := launch.AsUser(owner, func() error { return userfs.RemoveAll(ctx, path) }); err != nil {
		return fmt.Errorf("removing a job's directory %s: %w", path, err)
	}
	return nil
}
