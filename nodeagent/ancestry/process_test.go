package ancestry

import (
	"os"
	"testing"
)

func TestChildOf(t *testing.T) {
	me := os.Getpid()
	p, ok := ChildOf(me, func(pid int) bool { return pid == os.Getppid() })
	if now, err := SinceBoot(); !ok || err != nil || p.PID != me || p.Start == 0 || p.Start > now {
		t.Errorf("this process is told as %v, %v at %d, %v", p, ok, now, err)
	}
	if _, ok := ChildOf(me, func(int) bool { return false }); ok {
		t.Error("a parent that nobody has")
	}
}
