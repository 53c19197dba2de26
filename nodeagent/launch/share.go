package launch

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// autogroups is the file that shows whether the kernel shares processors among sessions (sched(7)).
const autogroups = "/proc/sys/kernel/sched_autogroup_enabled"

const (
	maxNice = 19
	// A step of the nice value divides a share by niceStepOver/niceStepUnder: 1.25.
	niceStepOver, niceStepUnder = 5, 4
)

// niceFor returns the smallest nice value, at most maxNice, with which all sharers of a processor
// together get no more of it than one other program.
func niceFor(sharers int) int {
	nice := 0
	for share := 1000; share < sharers*1000 && nice < maxNice; nice++ {
		share = share * niceStepOver / niceStepUnder
	}
	return nice
}

// sharesSessions reports whether the kernel shares processors among sessions.
func sharesSessions() bool {
	on, err := os.ReadFile(autogroups)
	return err == nil && strings.TrimSpace(string(on)) == "1"
}

// shareProcessor gives a rank that shares a processor its part of one program's share: by its
// session where sessions have shares, else by its nice value. This helps the daemons beside the
// ranks, so an error is ignored: ordinary users may set few sessions in a second.
func (f *Forker) shareProcessor(pid, sharers int) {
	nice := niceFor(sharers)
	switch {
	case nice == 0:
	case f.sessions:
		_ = writeProc("/proc/"+strconv.Itoa(pid)+"/autogroup", strconv.AppendInt(nil, int64(nice), 10))
	default:
		_ = unix.Setpriority(unix.PRIO_PGRP, pid, nice)
	}
}
