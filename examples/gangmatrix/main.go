// Gangmatrix draws the gang matrix of a small cluster as SVG: the picture in README.md. The
// scheduler (package gang) places the jobs.
//
//	go run ./examples/gangmatrix >docs/gang-matrix.svg
package main

import (
	"fmt"
	"os"
	"score/gang"
	"time"
)

const (
	nodes       = 4
	cpusPerNode = 4
	nodeMemory  = 64 << 30
	jobMemory   = 4 << 30
	sliceLength = 10 * time.Millisecond
)

// job is a job in the picture.
type job struct {
	user         string
	tasks, nodes int
}

// The jobs need more than twice the CPUs that the cluster has.
var jobs = []job{
	{"ann", 16, 4},
	{"bob", 8, 2},
	{"cem", 4, 2},
	{"dot", 8, 4},
	{"ann", 2, 1},
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gangmatrix:", err)
		os.Exit(1)
	}
}

func run() error {
	matrix, err := schedule(jobs)
	if err != nil {
		return err
	}
	return draw(os.Stdout, matrix)
}

// schedule submits the jobs in turn and returns the matrix that results.
func schedule(jobs []job) (gang.Snapshot, error) {
	m := gang.New(gang.Config{Slice: sliceLength})
	for i := range nodes {
		node := gang.Node{ID: gang.NodeID(fmt.Sprintf("n%d", i+1)), CPUs: cpusPerNode, Memory: nodeMemory}
		if err := m.AddNode(node); err != nil {
			return gang.Snapshot{}, err
		}
	}
	for i, j := range jobs {
		request := gang.Request{ID: gang.JobID(i + 1), Tasks: j.tasks, Nodes: j.nodes, MemPerNode: jobMemory}
		if err := m.Submit(request); err != nil {
			return gang.Snapshot{}, fmt.Errorf("job %d: %w", i+1, err)
		}
		m.Schedule(0)
	}
	return m.Matrix(), nil
}
