package steward

import (
	"path/filepath"
	"sync"
)

// sharers returns the largest number of local ranks that share a CPU of the place.
func (j *job) sharers() int {
	given := len(j.place.GetCpus())
	if given == 0 {
		return 1 // the kernel chooses CPUs
	}
	return ceil(len(j.ranks)*j.cpusEach(), given)
}

// cpusEach returns on how many CPUs of the place each rank may run.
func (j *job) cpusEach() int {
	return min(max(int(j.spec.GetCpusPerTask()), 1), len(j.place.GetCpus()))
}

// machineSharers returns how many ranks of the job share some CPU of this machine, at least. Nodes
// that have the same CPUs do not know which ones their neighbours use: the ranks of all are
// counted.
func (j *job) machineSharers() int {
	sharers := j.sharers()
	if cpus := machineCPUs(); j.order.GetSharesCpus() && cpus > 0 {
		return max(sharers, ceil(j.ranksOnMachine()*j.cpusEach(), cpus))
	}
	return sharers
}

// ranksOnMachine returns how many ranks of the job are on nodes that have the address of this one.
func (j *job) ranksOnMachine() (n int) {
	host, ok := hostOf(j.place)
	if !ok {
		return len(j.ranks)
	}
	for _, place := range j.order.GetJob().GetPlaces() {
		if at, ok := hostOf(place); ok && at == host {
			n += len(place.GetRanks())
		}
	}
	return n
}

// machineCPUs returns how many CPUs the machine has, 0 if that cannot be read. A steward may run on
// those of its node only.
var machineCPUs = sync.OnceValue(func() int {
	cpus, _ := filepath.Glob("/sys/devices/system/cpu/cpu[0-9]*")
	return len(cpus)
})

func ceil(a, b int) int { return (a + b - 1) / b }
