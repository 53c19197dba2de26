package channels

import (
	"fmt"
	"os"
	"score/channels/procstat"
	"sync"

	"golang.org/x/sys/unix"
)

// Process identifies a process: a later one with the same number differs from it.
type Process struct {
	Pid   uint32
	Start uint64 // clock ticks after boot
	Space uint64 // inode of its pid namespace
}

// Self is the calling process.
func Self() (Process, error) { return self() }

var self = sync.OnceValues(func() (Process, error) {
	stat, err := procstat.Read(os.Getpid())
	if err != nil {
		return Process{}, err
	}
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &st); err != nil {
		return Process{}, fmt.Errorf("channels: which pid namespace is this: %w", err)
	}
	return Process{Pid: uint32(os.Getpid()), Start: stat.Start, Space: st.Ino}, nil
})

// Dead reports whether the process surely ended. It is false if the process lives, and
// also if this one cannot know: in another pid namespace, or without /proc.
func (p Process) Dead() bool {
	me, err := self()
	if err != nil || p.Pid == 0 || p.Pid > 1<<30 || p.Space != me.Space {
		return false
	}
	stat, err := procstat.Read(int(p.Pid))
	if procstat.Gone(err) {
		return true
	}
	return err == nil && (stat.Ended() || stat.Start != p.Start)
}
