package cgroup

import (
	"score/nodeagent/realtime"
	"time"
)

// hurryAfter is how long killed threads may take to get a processor by themselves: the kernel takes
// well under a millisecond, and a busy machine a few slices of its scheduler.
const hurryAfter = 20 * time.Millisecond

// After that they alternately have priority over all others for hurryFor, and none for hurryRest:
// freeing many gigabytes takes seconds, which must not stop the host.
const (
	hurryFor  = 20 * time.Millisecond
	hurryRest = 80 * time.Millisecond
)

// hurry gives the group's killed threads priority over all ordinary programs. Two processes that
// keep waking each other can keep a processor from others for a minute, so that these cannot even
// die (seen with Linux 6.18, where each session has its own share). A killed thread cannot misuse
// the priority, since it does not return from the kernel. Without permission, only time is lost.
func (g *Group) hurry() {
	for _, tid := range g.threads() {
		_ = realtime.SetThreadFIFO(tid, realtime.DyingPriority) // it may be dead
	}
}

// calm ends the priority given by hurry.
func (g *Group) calm() {
	for _, tid := range g.threads() {
		_ = realtime.SetThreadNormal(tid) // it may be dead
	}
}

func (g *Group) threads() []int {
	threads, _ := numbersIn(g.dir, "cgroup.threads") // none if the group is gone
	return threads
}
