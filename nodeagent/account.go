package nodeagent

import (
	"math"
	"os"
	"strconv"
	"strings"

	"score/channels/node"
	"score/nodeagent/dataplane"
	"score/nodeagent/stewardpool"
	"score/nodeagent/switcher"
	"score/scored/api/scorev1"
)

// messages is what the job's ranks here have done with messages, as far as is known after a look at
// so many of their contexts; nil if they never had one.
func (j *job) messages(look int) (m *scorev1.Messages) {
	j.withChannels(func(c *dataplane.Job) { m = c.Messages(look) })
	return m
}

// addLive adds to the usage of a job that is on, or was since the last report, what its ranks here
// have used until now.
func (a *Agent) addLive(usage *scorev1.Usage, job uint64) {
	j := a.jobs.get(job)
	if j == nil {
		return
	}
	usage.Messages, usage.Fences = j.messages(node.AccountMost), j.metFences()
	j.Use(func(_ *dataplane.Job, steward *stewardpool.Steward, _ *switcher.Handle) {
		if cpu, err := steward.CPUTime(); err == nil {
			usage.CpuNanos = max(cpu.Nanoseconds(), 0)
		}
		if pids, err := steward.Container.Pids(nil); err == nil {
			usage.MaxRssBytes = largest(pids)
		}
	})
}

// maxResident is at how many processes of a job one report looks for the largest: the time that it
// takes, some ten microseconds each, comes off the ranks'.
const maxResident = 64

// largest is the most memory that one of the processes has had resident, in bytes. What has ended
// meanwhile has none.
func largest(pids []int) (most uint64) {
	for _, pid := range pids[:min(len(pids), maxResident)] {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
		if err != nil {
			continue
		}
		most = max(most, peakResident(string(text)))
	}
	return most
}

// peakResident reads VmHWM, which the kernel gives in KiB, from a process's status.
func peakResident(status string) uint64 {
	_, rest, _ := strings.Cut(status, "\nVmHWM:")
	line, _, _ := strings.Cut(rest, "\n")
	number, _ := strings.CutSuffix(strings.TrimSpace(line), " kB")
	kib, err := strconv.ParseUint(number, 10, 44)
	if err != nil {
		return 0 // a process that is ending has no memory
	}
	return kib << 10
}

// lastWord is for the usage at the job's end: a look at all contexts.
const lastWord = math.MaxInt
