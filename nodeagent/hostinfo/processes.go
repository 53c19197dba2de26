package hostinfo

// A host that has no numbers for processes left can start none: daemons end, and root cannot log in
// to help. So jobs get a part of them, as users' sessions do of a service manager.
const (
	// reservedPart is the part of all processes that no job gets: a quarter.
	reservedPart = 4
	// userPart is the part that ranks of one user get: half, as the kernel gives a user of its
	// number of threads.
	userPart = 2
	// leastProcesses is what a node has at least, whatever part of the host it is: programs with
	// hundreds of threads run there.
	leastProcesses = 1024
	// mostProcesses is PID_MAX_LIMIT of linux/threads.h: control groups take no larger limit.
	mostProcesses = 4 << 20
)

// hostProcesses returns how many processes and threads this host can have at once.
func hostProcesses() uint64 {
	return min(mostProcesses, readLimit("/proc/sys/kernel/pid_max"), readLimit("/proc/sys/kernel/threads-max"))
}

// UserProcesses returns how many of them the ranks of one user may have.
func UserProcesses() uint64 { return hostProcesses() / userPart }

// NodeProcesses returns how many of them all jobs of a node with so much memory may have. Several
// nodes divide a host's processes like its memory.
func NodeProcesses(memory uint64) uint64 {
	total, err := Memory()
	if err != nil {
		total = memory
	}
	return nodeProcesses(hostProcesses(), memory, total)
}

func nodeProcesses(host, memory, total uint64) uint64 {
	jobs := host - host/reservedPart
	if memory >= total {
		return jobs
	}
	part := float64(memory) / float64(total)
	return min(jobs, max(leastProcesses, uint64(part*float64(jobs))))
}
