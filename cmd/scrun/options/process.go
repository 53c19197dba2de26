package options

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"score/scored/api"
	"score/scored/api/scorev1"
	"syscall"

	"golang.org/x/sys/unix"
)

// Process holds the properties of a process that the ranks of its job inherit.
type Process struct {
	Environ []string
	Dir     string // the current directory; empty if it cannot be found
	Limits  []*scorev1.ResourceLimit
	Umask   uint32
}

// Here describes this process. Call it before other goroutines make files: a process can read its
// umask only by changing it.
func Here() Process {
	dir, err := os.Getwd()
	if errors.Is(err, fs.ErrPermission) { // os.Getwd looks into it; a node says what is wrong with it
		dir, err = unix.Getwd()
	}
	if err != nil {
		dir = "" // it was removed; directory says so if it is needed
	}
	return Process{
		Environ: os.Environ(),
		Dir:     dir,
		Limits:  ownLimits(),
		Umask:   ownUmask(),
	}
}

func ownUmask() uint32 {
	mask := syscall.Umask(0)
	syscall.Umask(mask)
	return uint32(mask)
}

func ownLimits() []*scorev1.ResourceLimit {
	restoreFileLimit()
	limits := make([]*scorev1.ResourceLimit, 0, api.ResourceLimits)
	for resource := range api.ResourceLimits {
		var limit unix.Rlimit
		if unix.Prlimit(0, resource, nil, &limit) != nil {
			continue // a kernel without this one limits nothing by it
		}
		limits = append(limits, &scorev1.ResourceLimit{
			Resource: uint32(resource), Soft: limit.Cur, Hard: limit.Max,
		})
	}
	return limits
}

// restoreFileLimit restores the soft limit on open files. Go raises it when a process starts, and
// restores it only before an exec, so restoreFileLimit requests an exec that cannot succeed.
func restoreFileLimit() {
	_ = syscall.Exec("", []string{""}, nil)
}

// directory returns the absolute directory to run in. It need not exist here: a node reports if it
// is missing there.
func (p Process) directory(wanted string) (string, error) {
	switch {
	case filepath.IsAbs(wanted):
		return filepath.Clean(wanted), nil
	case p.Dir == "":
		return "", errors.New("the current directory does not exist any more: give one with -D")
	default:
		return filepath.Join(p.Dir, wanted), nil
	}
}
