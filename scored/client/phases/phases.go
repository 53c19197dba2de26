package phases

import (
	"cmp"
	"fmt"
	"score/scored/api/plural"
	"score/scored/api/scorev1"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// maxNodes bounds the nodes with a line each. If there are more, those that ran last are shown,
// since they delay the start, and nobody reads more lines.
const maxNodes = 16

// Explained explains the columns, for manuals.
const Explained = `Times are milliseconds since the submission, by the leader's clock as each node
knows it:

  allocated  the whole gang had its places
  staged     the staged files were on the node
  ready      the steward was ready to fork
  forked     the last rank of the node existed
  init       the last rank of the node had connected by PMI or PMIx
  exchanged  the data of all nodes for the first fence was on the node
  fenced     all ranks of the node had left that fence
  running    the last of forked, init and fenced

A phase that a job does not have shows -: a program that uses neither PMI nor PMIx
has no init, and one that needs no addresses of others, as with channels of package
pm, has no exchange and no fence.`

// node is one line.
type node struct {
	name     string
	ranks    int
	start    *scorev1.NodeStart
	contacts uint32
}

// phase is one column.
type phase struct {
	name string
	of   func(*scorev1.StartTrace, *scorev1.NodeStart) int64
}

var columns = []phase{
	{"ALLOCATED", func(t *scorev1.StartTrace, _ *scorev1.NodeStart) int64 { return t.GetAllocatedNanos() }},
	{"STAGED", func(_ *scorev1.StartTrace, n *scorev1.NodeStart) int64 { return n.GetStagedNanos() }},
	{"READY", func(_ *scorev1.StartTrace, n *scorev1.NodeStart) int64 { return n.GetReadyNanos() }},
	{"FORKED", func(_ *scorev1.StartTrace, n *scorev1.NodeStart) int64 { return n.GetForkedNanos() }},
	{"INIT", func(_ *scorev1.StartTrace, n *scorev1.NodeStart) int64 { return n.GetInitNanos() }},
	{"EXCHANGED", func(_ *scorev1.StartTrace, n *scorev1.NodeStart) int64 { return n.GetExchangedNanos() }},
	{"FENCED", func(_ *scorev1.StartTrace, n *scorev1.NodeStart) int64 { return n.GetFenceNanos() }},
	{"RUNNING", func(_ *scorev1.StartTrace, n *scorev1.NodeStart) int64 { return Running(n) }},
}

// Running returns the instant at which a node's part of a start was over, in nanoseconds; 0: it was
// not.
func Running(n *scorev1.NodeStart) int64 {
	if n.GetForkedNanos() == 0 {
		return 0
	}
	return max(n.GetForkedNanos(), n.GetInitNanos(), n.GetFenceNanos())
}

// Lines returns a table of the phases of a job's start, with remarks; none if the job never had
// places.
func Lines(job *scorev1.Job) []string {
	trace := job.GetStart()
	if trace == nil {
		return nil
	}
	nodes := nodesOf(job)
	lines := []string{fmt.Sprintf("start of job %d, %s on %s; milliseconds since its submission:",
		job.GetId(), plural.Of(job.GetSpec().GetTasks(), "rank", "ranks"), plural.Of(len(nodes), "node", "nodes"))}
	shown := latest(nodes)
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "NODE\tQUEUED\t")
	for _, column := range columns {
		fmt.Fprint(table, column.name, "\t")
	}
	fmt.Fprintln(table)
	for _, n := range shown {
		row(table, job, n.name, func(column phase) int64 { return column.of(trace, n.start) })
	}
	if len(nodes) > 1 {
		row(table, job, "median", func(column phase) int64 { return quantile(trace, nodes, column, 0.5) })
		row(table, job, "all", func(column phase) int64 { return quantile(trace, nodes, column, 1) })
	}
	_ = table.Flush() // a Builder takes everything
	lines = append(lines, strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")...)
	if len(shown) < len(nodes) {
		lines = append(lines, plural.Of(len(nodes)-len(shown), "node that ran earlier has", "nodes that ran earlier have")+" no line of their own")
	}
	return append(lines, remarks(nodes)...)
}

func nodesOf(job *scorev1.Job) []node {
	nodes := make([]node, len(job.GetPlaces()))
	for i, place := range job.GetPlaces() {
		nodes[i] = node{name: place.GetNode(), ranks: len(place.GetRanks()), start: &scorev1.NodeStart{}}
		if starts := job.GetStart().GetNodes(); i < len(starts) {
			nodes[i].start, nodes[i].contacts = starts[i], starts[i].GetContacts()
		}
	}
	return nodes
}

// latest returns the nodes that get a line: all, or those that ran last.
func latest(nodes []node) []node {
	if len(nodes) <= maxNodes {
		return nodes
	}
	sorted := slices.SortedStableFunc(slices.Values(nodes), func(a, b node) int {
		return cmp.Compare(Running(b.start), Running(a.start))
	})
	return sorted[:maxNodes]
}

func row(table *tabwriter.Writer, job *scorev1.Job, name string, at func(phase) int64) {
	fmt.Fprintf(table, "%s\t%s\t", name, since(job, job.GetSubmittedNanos()))
	for _, column := range columns {
		fmt.Fprintf(table, "%s\t", since(job, at(column)))
	}
	fmt.Fprintln(table)
}

// quantile of a phase over the nodes that reached it; 0 unless all of them did.
func quantile(trace *scorev1.StartTrace, nodes []node, column phase, q float64) int64 {
	instants := make([]int64, len(nodes))
	for i, n := range nodes {
		instants[i] = column.of(trace, n.start)
	}
	slices.Sort(instants)
	if instants[0] == 0 {
		return 0
	}
	return instants[int(q*float64(len(instants)-1))]
}

func since(job *scorev1.Job, at int64) string {
	if at == 0 {
		return "-"
	}
	return strconv.FormatFloat(float64(at-job.GetSubmittedNanos())/1e6, 'f', 3, 64)
}

// remarks explains missing phases.
func remarks(nodes []node) []string {
	contacts, ranks, fenced := 0, 0, false
	for _, n := range nodes {
		contacts += int(n.contacts)
		ranks += n.ranks
		fenced = fenced || n.start.GetFenceNanos() != 0
	}
	switch {
	case contacts == 0:
		return []string{"no rank made contact by PMI or PMIx: there was no init, no exchange and no fence"}
	case contacts < ranks:
		return []string{fmt.Sprintf("%d of %s made contact by PMI or PMIx", contacts, plural.Of(ranks, "rank", "ranks"))}
	case !fenced:
		return []string{"there was no fence of all ranks, and no exchange"}
	default:
		return nil
	}
}
