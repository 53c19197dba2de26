package cgroup

import (
	"score/nodeagent/realtime"
	"time"
)

// hurryAfter is how long killed threads may take to get a processor by themselves: the kernel takes
// well under a millisecond, and a busy machine a few slices of its scheduler.
const hurryAfter = 20 * time.Millisecond

// For hurryFor they then come before all others, and for hurryRest they do not, in turn: giving
// back many gigabytes takes seconds, which must not stop the host.
const (
	hurryFor  = 20 * time.Millisecond
	hurryRest = 80 * time.Millisecond
)

// hurry lets the group's killed threads die before any ordinary program continues. Of several
// processes on one processor, two that keep waking each other can leave the others nothing for a
// minute, not even to die (seen with Linux 6.18, where each session has its own share). A killed
// thread cannot misuse this: it does not return from the kernel. Without permission, only time is
// lost.
func (g *Group) hurry() {
	for _, tid := range g.threads() {
		_ = realtime.SetThreadFIFO(tid, realtime.DyingPriority) // it may be dead
	}
}

// calm takes back what hurry gave.
func (g *Group) calm() {
	for _, tid := range g.threads() {
		_ = realtime.SetThreadNormal(tid) // it may be dead
	}
}

func (g *Group) threads() []int {
	threads, _ := numbersIn(g.dir, "cgroup.threads") // none where the group is gone
	return threads
}
