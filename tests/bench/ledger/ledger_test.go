package ledger

import (
	"errors"
	"strings"
	"testing"
	"time"
)

const trace = `# tracer: nop
#
          <idle>-0       [001] d..2.    10.000000: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_state=R ==> next_comm=a name next_pid=7 next_prio=59
          a name-7       [001] d..2.    10.000150: sched_switch: prev_comm=a name prev_pid=7 prev_state=S ==> next_comm=rank next_pid=9 next_prio=120
            rank-9       [001] d..2.    10.001150: sched_switch: prev_comm=rank prev_pid=9 prev_state=R+ ==> next_comm=a name next_pid=7 next_prio=59
          a name-7       [001] d..2.    10.001200: sched_switch: prev_comm=a name prev_pid=7 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
CPU:1 [LOST 12 EVENTS]
`

func TestRead(t *testing.T) {
	l := New()
	if err := l.Read(strings.NewReader(trace)); err != nil {
		t.Fatal(err)
	}
	near := func(got, want time.Duration) bool { return (got - want).Abs() < time.Microsecond }
	for id, want := range map[int]Entry{7: {200 * time.Microsecond, 2}, 9: {time.Millisecond, 1}, Idle: {0, 1}} {
		if got := l.Threads[id]; !near(got.Time, want.Time) || got.Runs != want.Runs {
			t.Errorf("thread %d: %+v, want %+v", id, got, want)
		}
	}
	if !near(l.Length, 1200*time.Microsecond) || l.Names[7] != "a name" {
		t.Errorf("%v in all, thread 7 is %q", l.Length, l.Names[7])
	}
}

func TestReadRubbish(t *testing.T) {
	for _, line := range []string{
		" sched_switch: ", "x: sched_switch: y", "1.5: sched_switch: prev_comm=a prev_pid=x ==> next_comm=b next_pid=1",
		"1.5: sched_switch: prev_comm=a prev_pid=1 ==> next_comm=b",
	} {
		if err := New().Read(strings.NewReader(" " + line)); !errors.Is(err, errLine) {
			t.Errorf("%q: %v", line, err)
		}
	}
}
