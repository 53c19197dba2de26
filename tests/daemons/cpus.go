package daemons

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// cpus are a node's: all of this process, each node beginning with another one, or that one alone.
// A gang's ranks are given the first of each node, and two that talk to each other must not be on
// the same CPU: the kernel may leave others there nothing for a minute (docs/ARCHITECTURE.md,
// "Nodes that share processors").
func (o Options) cpus(node int) ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("which CPUs there are: %w", err)
	}
	var all []int
	for cpu := range len(set) * 64 {
		if set.IsSet(cpu) {
			all = append(all, cpu)
		}
	}
	first := node % len(all)
	if o.OneCPU {
		return all[first : first+1], nil
	}
	return slices.Concat(all[first:], all[:first]), nil
}
