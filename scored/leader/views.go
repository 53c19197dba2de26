package leader

import (
	"cmp"
	"fmt"
	"score/gang"
	"score/scored/api/scorev1"
	"score/scored/state"
	"slices"
	"strings"
	"time"
)

// maxExplained bounds the waiting jobs for which a list says why they wait: finding out tries to
// place each. Those further back wait for their turn.
const maxExplained = 32

// jobView returns the job as users see it.
func (c *controller) jobView(j *job, waitingFor string) *scorev1.Job {
	view := &scorev1.Job{
		Id: j.id, Spec: j.listed, User: j.user, State: j.state,
		SubmittedNanos: j.submitted, StartedNanos: j.started, EndedNanos: j.ended,
		Row: int32(j.row), Places: c.nodePlaces(j), Verdict: j.verdict, ParentJob: j.parents,
		WaitingFor: waitingFor, Idle: c.idleView(j), Restarts: j.restarts, Because: j.because, Hold: j.hold,
	}
	if j.state != queued {
		view.Usage = j.usage()
	}
	if j.state == done {
		view.Row = -1
	}
	return view
}

// jobOf returns a finished job of the log as users see it.
func jobOf(record *state.Job) *scorev1.Job {
	view := &scorev1.Job{
		Id: record.ID, Spec: record.Spec, User: record.User, State: done,
		SubmittedNanos: record.Submitted, StartedNanos: record.Started, EndedNanos: record.Ended,
		Row: -1, Verdict: record.Verdict, Usage: record.Usage, ParentJob: record.Parent, Restarts: record.Restarts, Because: record.Because,
	}
	for _, p := range record.Places {
		view.Places = append(view.Places, &scorev1.NodePlace{Node: p.Node, Ranks: p.Ranks, Cpus: p.CPUs})
	}
	return view
}

// guestRows returns, for each job, the rows in which it runs as a guest.
func (c *controller) guestRows() map[uint64][]uint32 {
	guests := make(map[uint64][]uint32)
	for _, row := range c.gang.Rows() {
		for _, id := range row.Jobs {
			if j := c.jobs[uint64(id)]; j != nil && j.row != row.Index {
				guests[j.id] = append(guests[j.id], uint32(row.Index))
			}
		}
	}
	return guests
}

// waitingFor returns why a job is queued, in a few words.
func (c *controller) waitingFor(j *job) string {
	if j.state != queued {
		return ""
	}
	if j.withheld() {
		return j.withheldFor()
	}
	e, ok := c.gang.Explain(gang.JobID(j.id), c.now)
	if !ok || e.Running {
		return ""
	}
	if e.Reasons[0] == gang.ForOwner && e.Detail != "" {
		return reasonWords(e.Reasons) + ": " + e.Detail // users need the number of a limit
	}
	return reasonWords(e.Reasons)
}

func reasonWords(reasons []gang.Reason) string {
	words := make([]string, len(reasons))
	for i, r := range reasons {
		words[i] = r.String()
	}
	return strings.Join(words, " and ")
}

// explainTo returns sentences about why a job waits or where it runs, and, for its owner and
// operators, the warnings that an attached scrun has shown.
func (c *controller) explainTo(caller Caller, j *job) *scorev1.ExplainJobResponse {
	reply := c.explain(j)
	if caller.controls(j.user) {
		reply.Lines = append(reply.Lines, j.notes...)
	}
	return reply
}

func (c *controller) explain(j *job) *scorev1.ExplainJobResponse {
	if j.state == queued && j.withheld() {
		return j.explainWithheld()
	}
	e, ok := c.gang.Explain(gang.JobID(j.id), c.now)
	if !ok {
		return &scorev1.ExplainJobResponse{Lines: []string{"the job is done"}}
	}
	lines := []string{e.String()}
	if j.state == queued {
		if closed := c.closedTo(j); closed != "" {
			lines = append(lines, closed)
		}
	}
	if j.state == starting {
		late := j.namesOf(func(p *part) bool { return !p.prepared })
		lines = append(lines, "it is being prepared on "+strings.Join(late, ", "))
	}
	if j.state == ending {
		late := j.namesOf(func(p *part) bool { return !p.done })
		line := "it is being ended on " + strings.Join(late, ", ")
		if j.graceUntil != 0 {
			left := time.Duration(max(j.graceUntil-c.now, 0)).Round(time.Second)
			line += fmt.Sprintf("; its ranks have got SIGTERM, and get SIGKILL in %v", left)
		}
		lines = append(lines, line)
	}
	return &scorev1.ExplainJobResponse{
		Lines: lines, Resource: reasonWords(e.Reasons), JobsBefore: uint32(e.Before), EarliestStartNanos: e.StartBy,
	}
}

// matrixView returns the rows, what runs in each, and which one is on.
func (c *controller) matrixView() *scorev1.GetMatrixResponse {
	view := &scorev1.GetMatrixResponse{PlanVersion: c.rotation.Version, Term: c.term, RowOn: -1}
	lengths := make(map[int]int64)
	for _, row := range c.gang.Rows() {
		lengths[row.Index] = row.Slice.Nanoseconds()
	}
	rows := make(map[int]*scorev1.MatrixRow)
	row := func(index int) *scorev1.MatrixRow {
		if rows[index] == nil {
			rows[index] = &scorev1.MatrixRow{Index: uint32(index), SliceNanos: lengths[index]}
		}
		return rows[index]
	}
	guests := c.guestRows()
	for _, j := range c.sortedJobs() {
		if !j.active() {
			continue
		}
		row(j.row).Cells = append(row(j.row).Cells, cells(j)...)
		for _, index := range guests[j.id] {
			row(int(index)).Cells = append(row(int(index)).Cells, guestCells(j)...)
		}
	}
	for _, r := range rows {
		view.Rows = append(view.Rows, r)
	}
	slices.SortFunc(view.Rows, func(x, y *scorev1.MatrixRow) int { return cmp.Compare(x.Index, y.Index) })
	if position, _, _, _ := c.rotation.At(c.now); position >= 0 {
		view.RowOn = int32(c.rotation.Rows[position].Index)
	}
	return view
}

// cells returns a job's places in its own row.
func cells(j *job) []*scorev1.MatrixRow_Cell {
	out := make([]*scorev1.MatrixRow_Cell, len(j.parts))
	for i, p := range j.parts {
		out[i] = &scorev1.MatrixRow_Cell{Node: p.Node, JobId: j.id, Cpus: p.CPUs}
	}
	return out
}

// guestCells returns a job's places in another row in which it runs, too.
func guestCells(j *job) []*scorev1.MatrixRow_Cell {
	out := cells(j)
	for _, cell := range out {
		cell.Alternate = true
	}
	return out
}

func (c *controller) versionView() *scorev1.GetVersionResponse {
	view := &scorev1.GetVersionResponse{Version: c.version, Cluster: c.cluster, Protocol: c.protocol}
	for _, j := range c.jobs {
		switch {
		case j.state == queued:
			view.JobsQueued++
		case j.active():
			view.JobsRunning++
		}
	}
	return view
}
