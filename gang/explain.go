package gang

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Reason says what a waiting job waits for.
type Reason int

// The reasons, in the order in which Explanation lists them.
const (
	// ForNodes: too few nodes are there and not drained, whatever else runs.
	ForNodes Reason = iota + 1
	// ForMemory: jobs in all rows together reserve too much memory.
	ForMemory
	// ForExclusive: jobs run on nodes it wants for itself, or exclusive jobs hold nodes.
	ForExclusive
	// ForRows: all rows are there, and in none are enough CPUs free.
	ForRows
	// ForTurn: it would fit, but could delay a job before it.
	ForTurn
	// ForGang: the gang it is to join has no room.
	ForGang
	// ForPass: it came after the last Schedule.
	ForPass
)

func (r Reason) String() string {
	switch r {
	case ForNodes:
		return "nodes"
	case ForMemory:
		return "memory"
	case ForExclusive:
		return "exclusive nodes"
	case ForRows:
		return "free CPUs"
	case ForTurn:
		return "its turn"
	case ForGang:
		return "room beside the gang it joins"
	case ForPass:
		return "the scheduler"
	}
	return fmt.Sprintf("Reason(%d)", int(r))
}

// Explanation says why a job waits or where it runs.
type Explanation struct {
	Job     JobID
	Running bool
	Now     int64 // when it was asked for

	// Of a waiting job.
	Reasons []Reason
	Detail  string // what it asks for and how much of that there is now, for people
	Before  int    // jobs before it in the queue
	Head    JobID  // the job that waits first, 0 if none
	StartBy int64  // cluster time by which it starts if all keep their limits; 0: not known

	// Of a running job.
	Gang  JobID
	Row   int     // home
	Rows  []int   // all rows it runs in, ascending; none while idle
	Share float64 // of the time
	Nodes []NodeID
	Idle  bool // see Machine.SetIdle
	Lost  bool // a node of it has gone
}

// Explain tells about a job; ok is false if it is not known.
func (m *Machine) Explain(id JobID, now int64) (e Explanation, ok bool) {
	j := m.jobs[id]
	if j == nil {
		return Explanation{}, false
	}
	e = Explanation{Job: id, Now: now}
	if j.gang != nil {
		m.explainRunning(&e, j)
	} else {
		m.explainWaiting(&e, j)
	}
	return e, true
}

func (m *Machine) explainRunning(e *Explanation, j *job) {
	e.Running, e.Gang, e.Row, e.Idle, e.Lost = true, j.gang.id, j.gang.row, j.idle, j.lost
	for _, p := range j.places {
		e.Nodes = append(e.Nodes, p.Node)
	}
	var runs, period time.Duration
	for _, row := range m.Rows() {
		period += row.Slice
		if row.runs(j.req.ID) {
			e.Rows = append(e.Rows, row.Index)
			runs += row.Slice
		}
	}
	if period > 0 {
		e.Share = float64(runs) / float64(period)
	}
}

func (m *Machine) explainWaiting(e *Explanation, j *job) {
	if j.req.With != 0 && slices.Contains(m.joins, j) {
		e.Reasons = []Reason{ForGang}
		return
	}
	e.Before, _ = slices.BinarySearchFunc(m.queue, j, compareJobs)
	if m.head.job != nil {
		e.Head = m.head.job.req.ID
	}
	if m.head.job == j {
		e.StartBy = m.head.promise
	}
	e.Reasons = m.reasons(j)
	e.Detail = m.detail(j, e.Reasons)
}

// detail compares what the job wants with what there is, for the first of the reasons.
func (m *Machine) detail(j *job, reasons []Reason) string {
	var usable, roomy, alone int
	for pos := range m.nodes {
		if m.grid.drained[pos] {
			continue
		}
		usable++
		if m.grid.mem[pos] >= j.req.MemPerNode {
			roomy++
		}
		if m.grid.gangs[pos] == 0 || (!j.req.Exclusive && m.grid.lone[pos] == 0) {
			alone++
		}
	}
	wants := plural(j.req.Tasks, "task")
	if j.req.Nodes > 0 {
		wants = plural(j.req.Nodes, "node")
	}
	switch reasons[0] {
	case ForNodes:
		return fmt.Sprintf("it asks for %s, and %d of the cluster's nodes can be used", wants, usable)
	case ForMemory:
		return fmt.Sprintf("it asks for %s on each node, and %d of %s have that free", formatBytes(j.req.MemPerNode), roomy, plural(usable, "node"))
	case ForExclusive:
		return fmt.Sprintf("%d of %s are open to it", alone, plural(usable, "node"))
	case ForRows:
		return fmt.Sprintf("no row has as many, and there can be no more than %s", plural(m.cfg.MaxRows, "row"))
	case ForTurn:
		if m.head.job != nil {
			return fmt.Sprintf("it would fit, but could delay job %d", m.head.job.req.ID)
		}
	}
	return ""
}

// reasons finds the fewest obstacles that would have to go for the job to fit.
func (m *Machine) reasons(j *job) []Reason {
	if !m.possible(j) {
		return []Reason{ForNodes}
	}
	if slices.Contains(m.fresh, j) {
		return []Reason{ForPass}
	}
	if _, ok := m.spotFor(m.grid, j, anyGrowth); ok {
		return []Reason{ForTurn}
	}
	tries := [][]Reason{
		{ForMemory}, {ForExclusive}, {ForRows},
		{ForMemory, ForExclusive}, {ForMemory, ForRows}, {ForExclusive, ForRows},
	}
	for _, without := range tries {
		m.lift(without)
		if _, ok := m.spotFor(&m.probe, j, anyGrowth); ok {
			return without
		}
	}
	return []Reason{ForMemory, ForExclusive, ForRows}
}

// lift makes probe the cluster as it is but for some kinds of obstacles.
func (m *Machine) lift(obstacles []Reason) {
	from := m.grid
	if slices.Contains(obstacles, ForRows) {
		from = m.empty
	}
	m.probe.copyFrom(from)
	copy(m.probe.mem, m.grid.mem)
	copy(m.probe.gangs, m.grid.gangs)
	copy(m.probe.lone, m.grid.lone)
	if slices.Contains(obstacles, ForMemory) {
		copy(m.probe.mem, m.empty.mem)
	}
	if slices.Contains(obstacles, ForExclusive) {
		clear(m.probe.gangs)
		clear(m.probe.lone)
	}
}

// String is the explanation in a sentence or two for the user.
func (e Explanation) String() string {
	if e.Running {
		return e.running()
	}
	names := make([]string, len(e.Reasons))
	for i, r := range e.Reasons {
		names[i] = r.String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "job %d waits for %s", e.Job, strings.Join(names, " and "))
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	switch {
	case e.Before == 1:
		b.WriteString("; 1 job is before it")
	case e.Before > 1:
		fmt.Fprintf(&b, "; %d jobs are before it", e.Before)
	}
	if e.StartBy != 0 {
		in := time.Duration(max(e.StartBy-e.Now, 0)).Round(time.Second)
		fmt.Fprintf(&b, "; it starts within %v if all keep their time limits", in)
	}
	return b.String()
}

func (e Explanation) running() string {
	names := make([]string, len(e.Nodes))
	for i, n := range e.Nodes {
		names[i] = string(n)
	}
	where := fmt.Sprintf("job %d is in row %d on %s", e.Job, e.Row, strings.Join(names, " "))
	if e.Gang != e.Job {
		where += fmt.Sprintf(" with the gang of job %d", e.Gang)
	}
	switch {
	case e.Lost:
		return where + "; it has lost a node and is being ended"
	case e.Idle:
		return where + "; it is not being run for now"
	case len(e.Rows) == 0:
		return where
	}
	rows := make([]string, len(e.Rows))
	for i, r := range e.Rows {
		rows[i] = fmt.Sprint(r)
	}
	turn := "row"
	if len(rows) > 1 {
		turn = "rows"
	}
	return fmt.Sprintf("%s; it runs in %s %s, %.0f %% of the time", where, turn, strings.Join(rows, " "), e.Share*100)
}
