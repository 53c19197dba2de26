package launch

import (
	"errors"
	"fmt"
	"score/nodeagent/userfs"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// maxPathDirs bounds a PATH: a search asks the file system once per directory, and a longer PATH
// comes from a runaway script.
const maxPathDirs = 1024

// DefaultPath is searched if the user's environment has no PATH. It is the PATH of a login shell in
// Debian.
const DefaultPath = "/usr/local/bin:/usr/bin:/bin"

// shellWords are commands of shells that users write most and that are no programs of Debian's.
var shellWords = []string{
	"cd", "source", ".", "export", "unset", "alias", "ulimit", "umask", "module", "set", "exec", "eval", "trap", "wait", "for",
	"while", "if", "type", "read", "exit", "jobs", "fg", "bg", "pushd", "popd", "shopt", "declare", "(", "{", "!",
}

// forShell are characters of a command line that the names of programs rarely have.
const forShell = " \t\n|&;<>"

// Resolve finds the program as execvp(3) would for the user, nil for the caller. A name with a
// slash is relative to dir; other names are searched in the directories of path, the user's PATH.
// Resolve returns a path that needs no search, which is absolute if dir is.
//
// The error wraps ErrDir, ErrNotFound, ErrNotExecutable, ErrWrongArch or
// ErrBadInterpreter and is one sentence that says what to do.
func Resolve(program, dir, path string, u *User) (found string, err error) {
	err = AsUser(u, func() error {
		if err := checkDir(dir); err != nil {
			return err
		}
		if found, err = search(program, dir, path); err != nil {
			return err
		}
		return checkProgram(found, 0)
	})
	if err != nil {
		return "", err
	}
	return found, nil
}

func checkDir(dir string) error {
	fd, err := userfs.Open(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err == nil {
		unix.Close(fd)
		err = access(dir)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, userfs.ErrProc):
		return fmt.Errorf(
			"%w: %s is in /proc or leads through it, which would mean the daemon of the node; choose another with -D, and let the program go there",
			ErrDir, dir)
	case errors.Is(err, unix.ENOENT):
		return fmt.Errorf("%w: %s does not exist on this node; create it there or choose another with -D", ErrDir, dir)
	case errors.Is(err, unix.ENOTDIR):
		return fmt.Errorf("%w: %s is not a directory; choose another with -D", ErrDir, dir)
	case errors.Is(err, unix.EACCES):
		return fmt.Errorf("%w: you may not enter %s; change its permissions or choose another with -D", ErrDir, dir)
	default:
		return fmt.Errorf("%w: %w; choose another with -D", ErrDir, err)
	}
}

// access checks the permission to execute or enter path, by the thread's own effective credentials.
func access(path string) error {
	return userfs.Access(path, unix.X_OK)
}

func search(program, dir, path string) (string, error) {
	if program == "" {
		return "", fmt.Errorf("%w: the program's name is empty", ErrNotFound)
	}
	if strings.IndexByte(program, 0) >= 0 {
		return "", fmt.Errorf("%w: the program's name holds a zero byte", ErrNotFound)
	}
	if strings.Contains(program, "/") {
		full := under(dir, program)
		return full, fileError(full, access(full))
	}
	var refused error // the error of a file found earlier that is not executable
	places := strings.Split(path, ":")
	for _, place := range places[:min(len(places), maxPathDirs)] {
		if place == "" {
			place = "." // execvp(3): an empty entry is the working directory
		}
		full := under(dir, place+"/"+program)
		err := access(full)
		if err == nil && !isDir(full) {
			return full, nil
		}
		if errors.Is(err, unix.EACCES) && refused == nil && exists(full) && !isDir(full) {
			refused = fileError(full, err)
		}
	}
	if refused != nil {
		return "", refused
	}
	if len(places) > maxPathDirs {
		return "", fmt.Errorf("%w: %s is in none of the first %d directories of PATH, and no more are searched; shorten PATH, or give the program's path",
			ErrNotFound, program, maxPathDirs)
	}
	return "", fmt.Errorf("%w: %s is in no directory of PATH; %s", ErrNotFound, program, adviceFor(program))
}

// adviceFor says what may have been meant by a name that is in no directory of PATH: something that
// only a shell understands, or a name that was not written as it should be.
func adviceFor(program string) string {
	switch name, _, isAssignment := strings.Cut(program, "="); {
	case isAssignment && name != "":
		return "set variables before scrun or with --export, or write env before this one"
	case strings.ContainsAny(program, forShell):
		return "it is a line for a shell: write its words apart, without the quotes, or sh -c before it"
	case slices.Contains(shellWords, program):
		return "it is a word of the shell: write sh -c '...' with all that the shell is to do"
	}
	return fmt.Sprintf("check the spelling, or write ./%s for one in the working directory", program)
}

// under makes a relative path start at dir. It keeps "..", since after a symbolic link only the
// kernel knows where that leads.
func under(dir, path string) string {
	if strings.HasPrefix(path, "/") {
		return path
	}
	return strings.TrimSuffix(dir, "/") + "/" + strings.TrimPrefix(path, "./")
}

func exists(path string) bool {
	return userfs.Access(path, unix.F_OK) == nil
}

func isDir(path string) bool {
	var st unix.Stat_t
	return unix.Stat(path, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

// fileError returns a sentence for an errno of access on a program.
func fileError(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case (errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR)) && strings.ContainsAny(path, forShell):
		return fmt.Errorf("%w: %s does not exist on this node; check the path, or, if it is a line for a shell, write sh -c before it",
			ErrNotFound, path)
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		return fmt.Errorf("%w: %s does not exist on this node; check the path, or copy the program there", ErrNotFound, path)
	case errors.Is(err, unix.EACCES) && exists(path):
		return fmt.Errorf("%w: %s is not executable for you; chmod +x it, if its file system allows", ErrNotExecutable, path)
	case errors.Is(err, unix.EACCES):
		return fmt.Errorf("%w: you may not enter a directory on the way to %s", ErrNotExecutable, path)
	default:
		return fmt.Errorf("%w: %s: %w", ErrNotExecutable, path, err)
	}
}
