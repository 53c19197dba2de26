package steward

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	// muchOutput is after how many bytes a steward keeps to its job's CPUs. Before that it
	// works wherever there is a CPU, so that ranks at work are not disturbed.
	muchOutput = 1 << 20
	// threadsDir names the threads of this process.
	threadsDir = "/proc/self/task"
	// newThreads is how often at most threads are looked for that others have begun meanwhile.
	newThreads = 4
)

// keepCPUs has a steward read and store much output on the CPUs of the job that writes it, so that
// this takes nothing from others: with all its threads, since Go gives each piece of work to any of
// them.
type keepCPUs struct {
	cpus  []int // the job's; none: the kernel chooses
	read  int   // bytes, until it keeps to them
	kept  bool
	usual unix.CPUSet // where it was before
}

// took notes output.
func (k *keepCPUs) took(bytes int) {
	if k.kept || len(k.cpus) == 0 {
		return
	}
	if k.read += bytes; k.read < muchOutput {
		return
	}
	var set unix.CPUSet
	for _, cpu := range k.cpus {
		set.Set(cpu)
	}
	if k.kept = true; unix.SchedGetaffinity(0, &k.usual) == nil {
		allThreadsOn(&set)
	}
}

// leave ends it, for another job.
func (k *keepCPUs) leave() {
	if k.kept && k.usual.Count() > 0 {
		allThreadsOn(&k.usual)
	}
	*k = keepCPUs{}
}

// allThreadsOn lets the threads of this process run on the CPUs of the set. Those to come inherit
// that. Where a thread must not, it stays where it is.
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
