package gang

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Explanation describes why a job waits or where it runs.
type Explanation struct {
	Job     JobID
	Running bool
	Now     int64 // cluster time of the question

	// Of a waiting job.
	Reasons []Reason
	Detail  string // what the job asks for and how much of that is free, for users
	Before  int    // number of jobs before it in the queue
	Head    JobID  // first waiting job, 0 if none
	StartBy int64  // cluster time by which it starts if all jobs keep their limits; 0: unknown

	// Of a running job.
	Gang  JobID
	Row   int     // home row
	Rows  []int   // all rows in which it runs, ascending; none while idle
	Share float64 // part of the time in which it runs, 0 to 1
	Nodes []NodeID
	Idle  bool // see Machine.SetIdle
	Sleep bool // it has no turn because its whole gang sleeps, see Machine.SetAsleep
	Lost  bool // one of its nodes was removed
}

// Explain explains a job; ok is false if the job is unknown.
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
	m.Rows()
	e.Sleep = j.gang.rests
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
	if e.Reasons[0] <= ForRows && len(j.req.Exclude) > 0 { // nodes, or something of theirs, are short
		e.Detail += "; excluded: " + List(j.req.Exclude)
	}
}

// String returns the explanation in a sentence or two for the user.
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
	case e.Sleep:
		return where + "; all its ranks sleep, and it gives its turn away until one wakes"
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
