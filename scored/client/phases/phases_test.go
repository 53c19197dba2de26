package phases

import (
	"fmt"
	"score/scored/api/scorev1"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const submitted = 1_000_000_000

func jobOn(nodes ...*scorev1.NodeStart) *scorev1.Job {
	job := &scorev1.Job{
		Id: 7, Spec: &scorev1.JobSpec{Tasks: uint32(2 * len(nodes))}, SubmittedNanos: submitted,
		Start: &scorev1.StartTrace{AllocatedNanos: submitted + 250_000, ReadyNanos: submitted + 1_000_000, Nodes: nodes},
	}
	for i := range nodes {
		job.Places = append(job.Places, &scorev1.NodePlace{Node: fmt.Sprintf("n%d", i+1), Ranks: []uint32{uint32(2 * i), uint32(2*i + 1)}})
	}
	return job
}

func ms(at float64) int64 { return submitted + int64(at*1e6) }

func TestLines(t *testing.T) {
	mpi := jobOn(
		&scorev1.NodeStart{ReadyNanos: ms(1), ForkedNanos: ms(2), InitNanos: ms(5), ExchangedNanos: ms(7.5), FenceNanos: ms(7.625), Contacts: 2},
		&scorev1.NodeStart{ReadyNanos: ms(1.125), ForkedNanos: ms(2.5), InitNanos: ms(6), ExchangedNanos: ms(7), FenceNanos: ms(7.25), Contacts: 2},
	)
	want := []string{
		"start of job 7, 4 ranks on 2 nodes; milliseconds since its submission:",
		"    NODE  QUEUED  ALLOCATED  STAGED  READY  FORKED   INIT  EXCHANGED  FENCED  RUNNING",
		"      n1   0.000      0.250       -  1.000   2.000  5.000      7.500   7.625    7.625",
		"      n2   0.000      0.250       -  1.125   2.500  6.000      7.000   7.250    7.250",
		"  median   0.000      0.250       -  1.000   2.000  5.000      7.000   7.250    7.250",
		"     all   0.000      0.250       -  1.125   2.500  6.000      7.500   7.625    7.625",
	}
	if diff := cmp.Diff(want, Lines(mpi)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLinesOfProgramsWithout(t *testing.T) {
	forked := func(contacts uint32) *scorev1.NodeStart {
		start := &scorev1.NodeStart{ReadyNanos: ms(1), ForkedNanos: ms(2), Contacts: contacts}
		if contacts == 2 {
			start.InitNanos = ms(3)
		}
		return start
	}
	for contacts, want := range map[uint32]string{
		0: "no rank made contact by PMI or PMIx: there was no init, no exchange and no fence",
		1: "1 of 2 ranks made contact by PMI or PMIx",
		2: "there was no fence of all ranks, and no exchange",
	} {
		lines := Lines(jobOn(forked(contacts)))
		if got := lines[len(lines)-1]; got != want || len(lines) != 4 {
			t.Errorf("%d contacts: %q", contacts, lines)
		}
	}
	if lines := Lines(&scorev1.Job{Id: 1}); lines != nil {
		t.Errorf("a job without places: %q", lines)
	}
	// A node that told nothing, as when it was lost.
	unknown := jobOn(forked(0), &scorev1.NodeStart{})
	unknown.Start.Nodes = unknown.Start.Nodes[:1]
	if got := Lines(unknown)[5]; strings.Fields(got)[8] != "-" {
		t.Errorf("a node that told nothing: %q", got)
	}
}

func TestLinesOfManyNodes(t *testing.T) {
	var starts []*scorev1.NodeStart
	for i := range 40 {
		starts = append(starts, &scorev1.NodeStart{ReadyNanos: ms(1), ForkedNanos: ms(float64(2 + i))})
	}
	lines := Lines(jobOn(starts...))
	if got := strings.Fields(lines[2])[0]; got != "n40" {
		t.Errorf("the last to run is %s", got)
	}
	if got, want := lines[len(lines)-2], "24 nodes that ran earlier have no line of their own"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
