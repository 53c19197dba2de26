package ledger

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Idle is the thread that runs when no other does.
const Idle = 0

// Entry is what a thread had of the CPUs.
type Entry struct {
	Time time.Duration
	Runs int // how often it was let onto a CPU
}

// Ledger is what each thread had of the CPUs in a time.
type Ledger struct {
	Threads map[int]Entry // by thread id
	Names   map[int]string
	// Length is the time of all CPUs together.
	Length time.Duration
}

// New makes an empty one.
func New() *Ledger { return &Ledger{Threads: map[int]Entry{}, Names: map[int]string{}} }

// errLine means that a line of the trace is not as the kernel writes it.
var errLine = errors.New("not a line of a trace of sched_switch")

// Read adds the trace of one CPU in the kernel's text form. What ran before the first change and
// after the last one is not counted.
func (l *Ledger) Read(trace io.Reader) error {
	var last time.Duration
	began := false
	for lines := bufio.NewScanner(trace); ; {
		if !lines.Scan() {
			return lines.Err()
		}
		line := lines.Text()
		if strings.HasPrefix(line, "#") || !strings.Contains(line, " sched_switch: ") {
			continue
		}
		s, err := parse(line)
		if err != nil {
			return fmt.Errorf("%w: %q", err, line)
		}
		if began {
			e := l.Threads[s.from]
			e.Time += s.at - last
			l.Threads[s.from] = e
			l.Length += s.at - last
		}
		e := l.Threads[s.to]
		e.Runs++
		l.Threads[s.to] = e
		l.Names[s.from], l.Names[s.to] = s.fromName, s.toName
		last, began = s.at, true
	}
}

// change is one change of the running thread.
type change struct {
	at               time.Duration
	from, to         int
	fromName, toName string
}

// parse reads a line such as
//
//	<idle>-0 [001] d..2. 12.345678: sched_switch: prev_comm=a prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=b next_pid=7 next_prio=59
func parse(line string) (s change, err error) {
	head, rest, _ := strings.Cut(line, ": sched_switch: ")
	at := strings.Fields(head)
	if len(at) == 0 {
		return s, errLine
	}
	seconds, err := strconv.ParseFloat(at[len(at)-1], 64)
	if err != nil {
		return s, errLine
	}
	s.at = time.Duration(seconds * float64(time.Second))
	before, after, ok := strings.Cut(rest, " ==> ")
	if !ok {
		return s, errLine
	}
	if s.fromName, s.from, err = thread(before, "prev"); err != nil {
		return s, err
	}
	s.toName, s.to, err = thread(after, "next")
	return s, err
}

// thread reads a thread's name, which may contain blanks, and its id.
func thread(text, side string) (name string, id int, err error) {
	name, rest, ok := strings.Cut(strings.TrimPrefix(text, side+"_comm="), " "+side+"_pid=")
	number, _, _ := strings.Cut(rest, " ")
	if id, err = strconv.Atoi(number); !ok || err != nil {
		return "", 0, errLine
	}
	return name, id, nil
}
