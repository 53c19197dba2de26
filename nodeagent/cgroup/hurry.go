package cgroup

import (
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// hurryAfter is how long those who were killed may take to get a processor by themselves: the kernel takes well under a
// millisecond, and a busy machine a few slices of its scheduler.
const hurryAfter = 20 * time.Millisecond

// hurry lets the threads of the group, all of which have been killed, die before any ordinary program goes on: of several
// processes on one processor, two that keep waking each other can leave the others nothing for a minute (seen with Linux
// 6.18, where each session has its own share), not even to die. They cannot use it for more: who has been killed does not
// come back from the kernel. Without the right to do so nothing is lost but time.
func (g *Group) hurry() {
	text, err := readFile(g.dir, "cgroup.threads")
	if err != nil {
		return // it is gone
	}
	for line := range strings.Lines(text) {
		if tid, err := strconv.Atoi(strings.TrimSuffix(line, "\n")); err == nil {
			_ = unix.SchedSetAttr(tid, &first, 0) // it may be dead
		}
	}
}

// first is a policy before that of all ordinary programs, and after the daemons' own.
var first = unix.SchedAttr{
	Size:     unix.SizeofSchedAttr,
	Policy:   unix.SCHED_FIFO,
	Flags:    unix.SCHED_FLAG_RESET_ON_FORK,
	Priority: 1,
}
