package channels

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// Process names a process so exactly that it can be told from a later one with
// the same number.
type Process struct {
	Pid   uint32
	Start uint64 // clock ticks after boot
	Space uint64 // inode of its pid namespace
}

// Self is the calling process.
func Self() (Process, error) { return self() }

var self = sync.OnceValues(func() (Process, error) {
	start, _, err := readStat(os.Getpid())
	if err != nil {
		return Process{}, err
	}
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &st); err != nil {
		return Process{}, fmt.Errorf("channels: which pid namespace is this: %w", err)
	}
	return Process{Pid: uint32(os.Getpid()), Start: start, Space: st.Ino}, nil
})

// Dead says that the process surely ended. It is false if the process lives, and
// also if this one cannot know: in another pid namespace, or without /proc.
func (p Process) Dead() bool {
	me, err := self()
	if err != nil || p.Pid == 0 || p.Pid > 1<<30 || p.Space != me.Space {
		return false
	}
	start, ended, err := readStat(int(p.Pid))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return true
	}
	return err == nil && (ended || start != p.Start)
}

// errStat says that /proc has another format than expected.
var errStat = errors.New("channels: unexpected format of /proc/PID/stat")

// readStat returns when the process started, and whether all its threads ended
// though its parent has not asked for its status yet.
func readStat(pid int) (start uint64, ended bool, err error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false, err
	}
	return parseStat(text)
}

// Fields of /proc/PID/stat counted from the state, which is the third: the second may
// hold spaces and brackets, but the last bracket ends it (proc_pid_stat(5)).
const (
	statState   = 0
	statThreads = 17
	statStart   = 19
)

func parseStat(text []byte) (start uint64, ended bool, err error) {
	_, rest, ok := bytes.Cut(text[max(bytes.LastIndexByte(text, ')'), 0):], []byte(") "))
	fields := bytes.Fields(rest)
	if !ok || len(fields) <= statStart {
		return 0, false, errStat
	}
	start, err = strconv.ParseUint(string(fields[statStart]), 10, 64)
	if err != nil {
		return 0, false, errStat
	}
	threads, err := strconv.Atoi(string(fields[statThreads]))
	if err != nil {
		return 0, false, errStat
	}
	// A leader that ended before its threads is a zombie too, and the process lives on.
	state := fields[statState][0]
	return start, (state == 'Z' || state == 'X') && threads <= 1, nil
}
