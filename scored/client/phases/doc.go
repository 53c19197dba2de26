// Package phases shows people the phases of a job's start, node by node:
//
//	for _, line := range phases.Lines(job) {
//		fmt.Println(line)
//	}
package phases
