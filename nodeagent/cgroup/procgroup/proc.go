package procgroup

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// statBytes holds a whole /proc/PID/stat: 52 numbers and a name of 16 bytes.
const statBytes = 1024

// tick is the unit of times in /proc: USER_HZ is 100 on every Linux.
const tick = 10 * time.Millisecond

var errStat = errors.New("malformed /proc/PID/stat")

// stat is what is needed of /proc/PID/stat.
type stat struct {
	state byte
	ppid  int
	pgid  int
	start uint64        // ticks after boot: tells a process from a later one of its number
	cpu   time.Duration // of itself and of the children it has waited for
}

// stopped is true when the process cannot run: stopped by a signal or over.
func (s stat) stopped() bool { return s.state == 'T' || s.state == 't' || s.over() }

func (s stat) over() bool { return s.state == 'Z' || s.state == 'X' }

// parseStat reads the fields after the name, which ends at the last ')': the
// name itself may hold anything. Field numbers are those of proc(5).
func parseStat(text []byte) (stat, error) {
	at := bytes.LastIndexByte(text, ')')
	if at < 0 {
		return stat{}, errStat
	}
	var s stat
	rest := text[at+1:]
	for field := 3; ; field++ {
		var word []byte
		word, rest = nextWord(rest)
		if len(word) == 0 {
			return stat{}, errStat
		}
		if field == 3 {
			if len(word) != 1 || word[0] < 'A' || word[0] > 'z' {
				return stat{}, errStat
			}
			s.state = word[0]
			continue
		}
		v, ok := atoi(word)
		switch field {
		case 4:
			s.ppid = int(v)
		case 5:
			s.pgid = int(v)
		case 14, 15, 16, 17: // utime, stime, cutime, cstime
			s.cpu += time.Duration(v) * tick
		case 22:
			if !ok {
				return stat{}, errStat
			}
			s.start = v
			return s, nil
		}
	}
}

// nextWord splits off the first word; it is empty at the end.
func nextWord(text []byte) (word, rest []byte) {
	text = bytes.TrimLeft(text, " \n")
	end := bytes.IndexByte(text, ' ')
	if end < 0 {
		return text, nil
	}
	return text[:end], text[end:]
}

// atoi reads decimal digits without allocating; a sign makes it not ok.
func atoi(word []byte) (v uint64, ok bool) {
	for _, c := range word {
		if c < '0' || c > '9' || v > 1<<59 {
			return 0, false
		}
		v = v*10 + uint64(c-'0')
	}
	return v, len(word) > 0
}

// readStat reads one process; the error is unix.ESRCH or ENOENT when it is gone.
func readStat(pid int, buf []byte) (stat, error) {
	fd, err := openStat(pid)
	if err != nil {
		return stat{}, err
	}
	defer unix.Close(fd)
	return preadStat(fd, buf)
}

func openStat(pid int) (int, error) {
	return unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
}

func preadStat(fd int, buf []byte) (stat, error) {
	n, err := unix.Pread(fd, buf, 0)
	if err != nil {
		return stat{}, err
	}
	return parseStat(buf[:n])
}

func gone(err error) bool { return errors.Is(err, unix.ESRCH) || errors.Is(err, unix.ENOENT) }

// table is all processes of the host by id.
func table() (map[int]stat, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	all := make(map[int]stat, len(names))
	buf := make([]byte, statBytes)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if s, err := readStat(pid, buf); err == nil {
			all[pid] = s
		}
	}
	return all, nil
}

// descendants are the living processes below root, and those in one of the
// process groups, without root itself.
func descendants(all map[int]stat, root int, groups map[int]bool) []int {
	mine := make(map[int]bool)
	var below func(pid int) bool
	below = func(pid int) bool {
		if pid == root {
			return true
		}
		if known, seen := mine[pid]; seen {
			return known
		}
		mine[pid] = false // ends a circle that a changing table could show
		s, ok := all[pid]
		mine[pid] = ok && (groups[s.pgid] || s.ppid > 0 && below(s.ppid))
		return mine[pid]
	}
	var found []int
	for pid, s := range all {
		if pid != root && !s.over() && below(pid) {
			found = append(found, pid)
		}
	}
	return found
}
