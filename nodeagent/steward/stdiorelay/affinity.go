package stdiorelay

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	// muchOutput is the number of bytes after which a steward keeps to its job's CPUs. Before that
	// it runs wherever a CPU is free, so that it does not disturb working ranks.
	muchOutput = 1 << 20
	// threadsDir names the threads of this process.
	threadsDir = "/proc/self/task"
	// maxPasses bounds the passes over the threads: they may start new threads meanwhile.
	maxPasses = 4
)

// affinity moves a steward that handles much output to the CPUs of its job, so that the work costs
// no other job anything. It moves all threads, since Go gives work to any of them.
type affinity struct {
	cpus  []int // the job's; none: the kernel chooses
	read  int   // bytes
	next  int   // bytes at which threads are moved again
	kept  bool
	usual unix.CPUSet // where it was before
}

// charge counts output. Whenever the count has doubled, it moves the threads again: a thread that
// its parent started just before the parent was moved is still on the old CPUs.
func (a *affinity) charge(bytes int) {
	if len(a.cpus) == 0 {
		return
	}
	if a.read += bytes; a.read < max(a.next, muchOutput) {
		return
	}
	a.next = 2 * a.read
	var set unix.CPUSet
	for _, cpu := range a.cpus {
		set.Set(cpu)
	}
	if a.kept || unix.SchedGetaffinity(0, &a.usual) == nil {
		a.kept = true
		allThreadsOn(&set)
	}
}

// reset lets the steward run on any CPU again, for another job.
func (a *affinity) reset() {
	if a.kept {
		allThreadsOn(&a.usual)
	}
	*a = affinity{}
}

// allThreadsOn restricts the threads of this process to the CPUs of the set; new threads inherit
// that. Where that is not permitted, a thread stays where it is.
func allThreadsOn(set *unix.CPUSet) {
	for range maxPasses {
		threads, err := os.ReadDir(threadsDir)
		if err != nil {
			return
		}
		changed := false
		for _, thread := range threads {
			var is unix.CPUSet
			id, err := strconv.Atoi(thread.Name())
			if err != nil || unix.SchedGetaffinity(id, &is) != nil || is == *set {
				continue
			}
			changed = unix.SchedSetaffinity(id, set) == nil || changed
		}
		if !changed {
			return
		}
	}
}
