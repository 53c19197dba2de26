// Package procstat reads /proc/PID/stat (proc_pid_stat(5)): what the kernel tells of a
// process. Programs, stewards and agents know each other's processes by it.
package procstat

import (
	"bytes"
	"errors"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// Bytes holds a whole /proc/PID/stat: 52 numbers and a name of 16 bytes.
	Bytes = 1024
	// Tick is the unit of times in /proc: USER_HZ is 100 on every Linux that Go runs on.
	Tick = 10 * time.Millisecond
)

var (
	// ErrMalformed means that the text is not that of a process.
	ErrMalformed = errors.New("malformed /proc/PID/stat")
	// ErrReleased means that the process was reaped while the kernel wrote the text.
	ErrReleased = errors.New("process released")
)

// Stat is what the daemons need to know about a process.
type Stat struct {
	State   byte // R, S, D, T, t, Z, X, ...
	Parent  int
	Group   int // process group
	Threads int
	Start   uint64        // ticks after boot: tells a process from a later one of its number
	CPU     time.Duration // of itself and of the children it has waited for
}

// Exited reports whether the process has ended, as far as its first thread goes: only its status is
// left, or its other threads.
func (s Stat) Exited() bool { return s.State == 'Z' || s.State == 'X' }

// Ended reports whether all threads of the process have: a first thread that ended before the
// others looks the same, and the process lives on.
func (s Stat) Ended() bool { return s.Exited() && s.Threads <= 1 }

// Numbers of the fields, as in proc_pid_stat(5).
const (
	fieldState    = 3
	fieldParent   = 4
	fieldGroup    = 5
	fieldCPUFirst = 14 // utime, stime, cutime, cstime
	fieldCPULast  = 17
	fieldThreads  = 20
	fieldStart    = 22
)

// releasedGroup stands for the process group once the process has none: it left its session and
// group when it was reaped (do_task_stat in fs/proc/array.c).
const releasedGroup = "-1"

// Parse reads the fields after the name, which ends at the last ')': the name itself
// may hold anything. It allocates nothing.
func Parse(text []byte) (Stat, error) {
	name := bytes.LastIndexByte(text, ')')
	if name < 0 {
		return Stat{}, ErrMalformed
	}
	var s Stat
	word, rest := nextWord(text[name+1:])
	if len(word) != 1 || word[0] < 'A' || word[0] > 'z' {
		return Stat{}, ErrMalformed
	}
	s.State = word[0]
	for field := fieldState + 1; field <= fieldStart; field++ {
		word, rest = nextWord(rest)
		if field == fieldGroup && string(word) == releasedGroup {
			return Stat{}, ErrReleased
		}
		v, ok := number(word)
		if !s.set(field, v, ok) {
			return Stat{}, ErrMalformed
		}
	}
	return s, nil
}

// set keeps the value of a field, and reports whether it can be one.
func (s *Stat) set(field int, v uint64, ok bool) bool {
	switch {
	case field == fieldParent:
		s.Parent = int(v)
	case field == fieldGroup:
		s.Group = int(v)
	case field >= fieldCPUFirst && field <= fieldCPULast:
		s.CPU += time.Duration(v) * Tick
	case field == fieldThreads:
		s.Threads = int(v)
	case field == fieldStart:
		s.Start = v
	default:
		return true // others may be negative
	}
	return ok
}

// nextWord splits off the first word; it is empty at the end.
func nextWord(text []byte) (word, rest []byte) {
	text = bytes.TrimLeft(text, " \n")
	end := bytes.IndexAny(text, " \n")
	if end < 0 {
		return text, nil
	}
	return text[:end], text[end:]
}

// number reads decimal digits without allocating; a sign makes it not ok.
func number(word []byte) (v uint64, ok bool) {
	for _, c := range word {
		if c < '0' || c > '9' || v > 1<<59 {
			return 0, false
		}
		v = v*10 + uint64(c-'0')
	}
	return v, len(word) > 0
}

// Read reads one process. Gone reports whether an error means that there is no such process.
func Read(pid int) (Stat, error) {
	fd, err := Open(pid)
	if err != nil {
		return Stat{}, err
	}
	defer unix.Close(fd)
	var buffer [Bytes]byte
	return ReadAt(fd, buffer[:])
}

// Open returns a descriptor for ReadAt, which stays that of the process when another
// gets its number.
func Open(pid int) (fd int, err error) {
	return unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
}

// ReadAt reads a process that has been opened. The buffer has Bytes bytes.
func ReadAt(fd int, buffer []byte) (Stat, error) {
	n, err := unix.Pread(fd, buffer, 0)
	if err != nil {
		return Stat{}, err
	}
	return Parse(buffer[:n])
}

// Gone reports whether the error of reading means that the process is not there.
func Gone(err error) bool {
	return errors.Is(err, unix.ESRCH) || errors.Is(err, unix.ENOENT) || errors.Is(err, ErrReleased)
}
