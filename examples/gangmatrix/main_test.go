package main

import (
	"bytes"
	"os"
	"score/gang"
	"testing"
)

// README.md shows what the scheduler does now.
func TestPictureIsUpToDate(t *testing.T) {
	matrix, err := schedule(jobs)
	if err != nil {
		t.Fatal(err)
	}
	var drawn bytes.Buffer
	if err := draw(&drawn, matrix); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile("../../docs/gang-matrix.svg")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(drawn.Bytes(), kept) {
		t.Error("docs/gang-matrix.svg is not up to date; run 'go run ./examples/gangmatrix >docs/gang-matrix.svg'")
	}
}

// Every job of the picture has its CPUs in some slice.
func TestAllJobsAreShown(t *testing.T) {
	matrix, err := schedule(jobs)
	if err != nil {
		t.Fatal(err)
	}
	cpus := make(map[gang.JobID]int)
	for _, row := range matrix.Rows {
		for _, node := range row.CPUs {
			for _, cpu := range node {
				if cpu.Job != 0 && !cpu.Guest {
					cpus[cpu.Job]++
				}
			}
		}
	}
	for i, j := range jobs {
		if got := cpus[gang.JobID(i+1)]; got != j.tasks {
			t.Errorf("job %d has %d CPUs in the slice of its own, want %d", i+1, got, j.tasks)
		}
	}
}
