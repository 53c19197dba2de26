package daemons

import (
	"runtime"
	"slices"
	"testing"
)

// Nodes beside each other begin with different CPUs, and each CPU is there once.
func TestCPUs(t *testing.T) {
	var before []int
	for node := range 3 {
		all, err := Options{}.cpus(node)
		one, oneErr := Options{OneCPU: true}.cpus(node)
		if err != nil || oneErr != nil {
			t.Fatal(err, oneErr)
		}
		if len(one) != 1 || one[0] != all[0] {
			t.Errorf("node %d has %v, or one alone: %v", node, all, one)
		}
		if len(before) > 1 && before[0] == all[0] {
			t.Errorf("nodes %d and %d begin with CPU %d", node-1, node, all[0])
		}
		before = all
		if once := slices.Compact(slices.Sorted(slices.Values(all))); len(once) != len(all) || len(all) > runtime.NumCPU() {
			t.Errorf("node %d has CPUs %v, of %d", node, all, runtime.NumCPU())
		}
	}
}
