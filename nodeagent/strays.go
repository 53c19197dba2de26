package nodeagent

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// markVariable is in the environment of every rank, and so of what it starts:
// without control groups it is all that still ties a process to its job when
// its steward and its parents are dead and it has left its process group.
const markVariable = "SCORE_JOB_KEY"

// strayPause is the time between two looks for strays.
const strayPause = 10 * time.Millisecond

// markIn finds the mark of a job in its environment.
func markIn(env []string) string {
	for _, variable := range slices.Backward(env) {
		if strings.HasPrefix(variable, markVariable+"=") {
			return variable
		}
	}
	return ""
}

// killStrays ends all processes that carry the mark, until there is none or ctx
// ends. A program that clears its environment escapes.
func killStrays(ctx context.Context, mark string) {
	for killMarked(mark) > 0 && ctx.Err() == nil {
		sleep(ctx, strayPause)
	}
}

func killMarked(mark string) (killed int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || !hasMark(filepath.Join("/proc", e.Name(), "environ"), mark) {
			continue
		}
		if unix.Kill(pid, unix.SIGKILL) == nil {
			killed++
		}
	}
	return killed
}

// hasMark is false for processes of others, whose environment cannot be read,
// and for those that are dead.
func hasMark(path, mark string) bool {
	environ, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	for variable := range bytes.SplitSeq(environ, []byte{0}) {
		if string(variable) == mark {
			return true
		}
	}
	return false
}
