// Package phases shows people how the start of a job went, node by node:
//
//	for _, line := range phases.Lines(job) {
//		fmt.Println(line)
//	}
package phases
