package daemon

import (
	"fmt"
	"score/scored/api/plural"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxDevNodes bounds scored dev: each node is a process with stewards of its own, some 40 MB.
const maxDevNodes = 64

// devNode is one node of a development cluster.
type devNode struct {
	name   string
	cpus   []int
	shares bool
	memory uint64
}

// divide gives each node its part of the machine: CPUs of its own if there are enough, else one
// shared CPU, and an equal part of the memory.
func divide(nodes int, cpus []int, memory uint64) []devNode {
	plan := make([]devNode, 0, nodes)
	shares := nodes > len(cpus)
	for i := range nodes {
		part := []int{cpus[i%len(cpus)]}
		if !shares {
			part = cpus[i*len(cpus)/nodes : (i+1)*len(cpus)/nodes]
		}
		plan = append(plan, devNode{
			name: "n" + strconv.Itoa(i+1), cpus: part, shares: shares, memory: memory / uint64(nodes),
		})
	}
	return plan
}

// machine returns this process's CPUs and the machine's memory in bytes.
func machine() (cpus []int, memory uint64, err error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, 0, fmt.Errorf("cannot read which CPUs may be used: %w", err)
	}
	for cpu := range len(set) * 64 {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return nil, 0, fmt.Errorf("cannot read how much memory there is: %w", err)
	}
	return cpus, info.Totalram * uint64(info.Unit), nil
}

// describePlan returns a sentence that says what each node has.
func describePlan(plan []devNode) string {
	words := make([]string, 0, len(plan))
	for _, node := range plan {
		words = append(words, fmt.Sprintf("%s (%s)", node.name, cpuWords(node.cpus)))
	}
	text := plural.Of(len(plan), "node", "nodes") + " on this machine: " + strings.Join(words, ", ")
	if plan[0].shares {
		text += "; there are more nodes than CPUs, so nodes share them, and their gangs disturb each other"
	}
	return text
}

func cpuWords(cpus []int) string {
	words := make([]string, 0, len(cpus))
	for _, cpu := range cpus {
		words = append(words, strconv.Itoa(cpu))
	}
	if len(cpus) == 1 {
		return "CPU " + words[0]
	}
	return "CPUs " + strings.Join(words, ",")
}
