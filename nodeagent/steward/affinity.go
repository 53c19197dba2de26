package steward

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
	// newThreads bounds the passes over the threads: others may begin new ones meanwhile.
	newThreads = 4
)

// affinity makes a steward read and store much output on the CPUs of the job that writes it, so
// that others lose nothing. It moves all threads, since Go gives work to any of them.
type affinity struct {
	cpus  []int // the job's; none: the kernel chooses
	read  int   // bytes
	next  int   // bytes at which threads are moved again
	kept  bool
	usual unix.CPUSet // where it was before
}

// charge counts output. At each doubling of it threads are moved again: one that was being made when
// its parent was moved has the CPUs that the parent had before.
func (k *affinity) charge(bytes int) {
	if len(k.cpus) == 0 {
		return
	}
	if k.read += bytes; k.read < max(k.next, muchOutput) {
		return
	}
	k.next = 2 * k.read
	var set unix.CPUSet
	for _, cpu := range k.cpus {
		set.Set(cpu)
	}
	if k.kept || unix.SchedGetaffinity(0, &k.usual) == nil {
		k.kept = true
		allThreadsOn(&set)
	}
}

// reset lets the steward run anywhere again, for another job.
func (k *affinity) reset() {
	if k.kept {
		allThreadsOn(&k.usual)
	}
	*k = affinity{}
}

// allThreadsOn restricts the threads of this process to the CPUs of the set; new threads inherit
// that. Where that is not permitted, a thread stays where it is.
func allThreadsOn(set *unix.CPUSet) {
	for range newThreads {
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
