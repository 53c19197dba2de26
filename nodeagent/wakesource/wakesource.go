package wakesource

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Own holds the inodes of the images and sockets of the job's channels.
type Own struct {
	Images  map[uint64]bool // memory of contexts
	Sockets map[uint64]bool // of contexts
}

// maxThreads bounds the examined threads: some ten for each of the most ranks that a node can have.
const maxThreads = 16384

// recheckPause is the pause before threads that something could wake are examined again: in a rank
// that has polled, Go's monitor thread naps in turns for some 15 ms, and with many ranks there is
// always one.
const recheckPause = 20 * time.Millisecond

// Find describes in a few words what could wake one of the processes, "" if nothing can. If there
// seems to be something, it checks again after recheckPause.
func Find(pids []int, own Own) string {
	threads, what := threadsOf(pids)
	if what != "" {
		return what
	}
	awake, _ := awakeThreads(threads, own)
	if len(awake) == 0 {
		return ""
	}
	time.Sleep(recheckPause)
	_, what = awakeThreads(awake, own)
	return what
}

// thread is a thread of a process; id is its name in /proc.
type thread struct {
	pid int
	id  string
}

// threadsOf lists the threads of the processes, grouped by process. failed is the reason if it
// cannot.
func threadsOf(pids []int) (threads []thread, failed string) {
	for _, pid := range pids {
		entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil {
			return nil, fmt.Sprintf("process %d cannot be looked at", pid)
		}
		if len(threads)+len(entries) > maxThreads {
			return nil, fmt.Sprintf("the job has more than %d threads on a node", maxThreads)
		}
		for _, entry := range entries {
			threads = append(threads, thread{pid, entry.Name()})
		}
	}
	return threads, ""
}

// awakeThreads returns the threads that something could wake, and what could wake the last of them.
func awakeThreads(threads []thread, own Own) (awake []thread, what string) {
	var p process
	defer func() { p.close() }()
	for _, t := range threads {
		if t.pid != p.pid {
			p.close()
			p = process{pid: t.pid, own: own}
		}
		if source := p.wakeSource(t.id); source != "" {
			awake, what = append(awake, t), fmt.Sprintf("process %d %s", t.pid, source)
		}
	}
	return awake, what
}

// process is a process that is being examined.
type process struct {
	pid    int
	own    Own
	memory *os.File // opened at the first use
	maps   []mapping
}

func (p *process) close() {
	if p.memory != nil {
		p.memory.Close()
	}
}

// wakeSource describes what could wake a thread.
func (p *process) wakeSource(thread string) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/syscall", p.pid, thread))
	if err != nil {
		return "cannot be looked at"
	}
	call, ok := parseCall(string(text))
	if !ok {
		return "runs"
	}
	return p.sourceOf(call)
}

// call is a system call in which a thread waits.
type call struct {
	number int
	args   [6]uint64
}

// parseCall returns false for a thread that runs, or is stopped outside of system calls.
func parseCall(text string) (c call, ok bool) {
	fields := strings.Fields(text)
	if len(fields) < 1+len(c.args) {
		return c, false
	}
	number, err := strconv.Atoi(fields[0])
	if err != nil || number < 0 {
		return c, false
	}
	c.number = number
	for i := range c.args {
		if c.args[i], err = strconv.ParseUint(strings.TrimPrefix(fields[1+i], "0x"), 16, 64); err != nil {
			return c, false
		}
	}
	return c, true
}
