package cli

import (
	"bytes"
	"fmt"
	"score/scored/api/plural"
	"score/scored/api/scorev1"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// topLine is a line of a frame with its style.
type topLine struct {
	text  string
	style style
}

// style is the style of a line.
type style uint8

const (
	stylePlain   style = iota
	styleHeading       // of a table
	styleOn            // a row or a job that is on now
)

const (
	// topNodes is the number of columns above which neighbours with the same jobs in all rows share
	// one column.
	topNodes = 8
	// topJobLines is how many lines are left for jobs below a matrix of many rows.
	topJobLines = 6
)

// topFrame returns a frame of at most width columns and height lines; 0 means no limit.
func topFrame(top *scorev1.GetTopResponse, sort topSort, width, height int) []topLine {
	lines := topTitle(top)
	matrix := matrixLines(top.GetMatrix())
	if limit := height - len(lines) - topJobLines; height > 0 && len(matrix) > max(limit, 2) {
		matrix = shorten(matrix, max(limit, 2), "rows")
	}
	lines = append(lines, topLine{})
	lines = append(lines, matrix...)
	if jobs := jobTopLines(top, sort); len(jobs) > 1 {
		lines = append(lines, topLine{})
		if left := height - len(lines); height > 0 && len(jobs) > max(left, 2) {
			jobs = shorten(jobs, max(left, 2), "jobs")
		}
		lines = append(lines, jobs...)
	}
	if top.GetJobsLeftOut() > 0 {
		lines = append(lines, topLine{text: plural.Of(top.GetJobsLeftOut(), "job is not told of", "jobs are not told of")})
	}
	if height > 0 && len(lines) > height {
		lines = lines[:height]
	}
	for i := range lines {
		lines[i].text = cutTo(lines[i].text, width)
	}
	return lines
}

// shorten cuts lines to limit lines. The last line says how many more there are.
func shorten(lines []topLine, limit int, what string) []topLine {
	left := len(lines) - limit + 1
	return append(slices.Clone(lines[:limit-1]), topLine{text: fmt.Sprintf("... %d %s more", left, what)})
}

// cutTo cuts a line at the edge of the screen.
func cutTo(text string, width int) string {
	if width <= 0 || utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width])
}

func topTitle(top *scorev1.GetTopResponse) []topLine {
	running, waiting := 0, 0
	for _, j := range top.GetJobs() {
		if j.GetState() == scorev1.JobState_JOB_STATE_QUEUED {
			waiting++
		} else {
			running++
		}
	}
	m := top.GetMatrix()
	return []topLine{
		{text: fmt.Sprintf("%s  cluster %s, %d of %s up, %s, %s, %s, plan %d", time.Unix(0, top.GetNowNanos()).Format(time.TimeOnly),
			printable(top.GetCluster()), top.GetNodesUp(), plural.Of(top.GetNodes(), "node", "nodes"),
			plural.Of(running, "job runs", "jobs run"), plural.Of(waiting, "waits", "wait"),
			plural.Of(len(m.GetRows()), "row", "rows"), m.GetPlanVersion())},
		{text: "switch, planned instant to running everywhere: " + newStepsData(top.GetToRunning()).words()},
		{text: "skew between the nodes of a switch: " + newStepsData(top.GetSkew()).words()},
	}
}

// matrixLines returns the rows of the matrix. If there are many columns, neighbouring nodes with
// the same jobs share one.
func matrixLines(matrix *scorev1.GetMatrixResponse) []topLine {
	if len(matrix.GetRows()) == 0 {
		return []topLine{{text: "no job runs"}}
	}
	var columns []column
	for _, node := range matrixNodes(matrix) {
		c := column{first: node, last: node}
		for _, row := range matrix.GetRows() {
			c.cells = append(c.cells, matrixCell(row, node))
		}
		columns = append(columns, c)
	}
	if len(columns) > topNodes {
		columns = joined(columns)
	}
	headings := []string{"ROW", "SLICE"}
	for _, c := range columns {
		headings = append(headings, c.heading())
	}
	rows := [][]string{headings}
	styles := []style{styleHeading}
	for i, row := range matrix.GetRows() {
		mark, l := "", stylePlain
		if int32(row.GetIndex()) == matrix.GetRowOn() {
			mark, l = "*", styleOn
		}
		cells := []string{strconv.Itoa(int(row.GetIndex())) + mark, shortTime(time.Duration(row.GetSliceNanos()))}
		for _, c := range columns {
			cells = append(cells, c.cells[i])
		}
		rows, styles = append(rows, cells), append(styles, l)
	}
	return align(rows, styles)
}

// column is the jobs of a node, or of several neighbours, in all rows.
type column struct {
	first, last string
	cells       []string
}

func (c *column) heading() string {
	if c.first == c.last {
		return c.first
	}
	return c.first + ".." + c.last
}

// joined merges neighbours that have the same jobs into one column.
func joined(columns []column) []column {
	out := columns[:1]
	for _, c := range columns[1:] {
		if before := &out[len(out)-1]; slices.Equal(before.cells, c.cells) {
			before.last = c.last
			continue
		}
		out = append(out, c)
	}
	return out
}

// jobTopLines returns the jobs, sorted, below their heading.
func jobTopLines(top *scorev1.GetTopResponse, sort topSort) []topLine {
	jobs := slices.Clone(top.GetJobs())
	slices.SortStableFunc(jobs, sort.compare)
	on := jobsOn(top.GetMatrix())
	rows := [][]string{{"JOB", "USER", "STATE", "RANKS", "ROW", "SHARE", "MSG/S", "BYTES/S", "REFUSED", "RESENT", "FLUSH", "SWITCH", "NAME"}}
	styles := []style{styleHeading}
	for _, j := range jobs {
		l, mark := stylePlain, ""
		if on[j.GetJobId()] {
			l, mark = styleOn, "*"
		}
		row := "-"
		if j.GetRow() >= 0 {
			row = strconv.Itoa(int(j.GetRow())) + mark
		}
		rows, styles = append(rows, []string{
			strconv.FormatUint(j.GetJobId(), 10), orDash(j.GetUser()), topStateWord(j), strconv.Itoa(int(j.GetRanks())), row,
			fmt.Sprintf("%.1f%%", 100*j.GetShare()), shortRate(j.GetSentPerSecond()), shortBytes(uint64(j.GetBytesPerSecond())),
			shortRate(j.GetNackedPerSecond()), shortRate(j.GetResentPerSecond()), medianWord(j.GetFlush()), medianWord(j.GetTotal()),
			j.GetName(),
		}), append(styles, l)
	}
	return align(rows, styles)
}

// topStateWord also says who holds a job.
func topStateWord(j *scorev1.TopJob) string {
	if hold := j.GetHold(); hold != nil {
		return "held by " + hold.GetBy()
	}
	return jobStateWord(j)
}

// jobsOn returns the jobs of the row that is on.
func jobsOn(matrix *scorev1.GetMatrixResponse) map[uint64]bool {
	on := make(map[uint64]bool)
	for _, row := range matrix.GetRows() {
		if int32(row.GetIndex()) != matrix.GetRowOn() {
			continue
		}
		for _, cell := range row.GetCells() {
			on[cell.GetJobId()] = true
		}
	}
	return on
}

func medianWord(t *scorev1.StepTimes) string {
	if t.GetCount() == 0 {
		return "-"
	}
	return shortTime(time.Duration(t.GetMedianNanos()))
}

// shortRate shows a number of events per second.
func shortRate(perSecond float64) string {
	switch {
	case perSecond >= 1e9:
		return fmt.Sprintf("%.1fG", perSecond/1e9)
	case perSecond >= 1e6:
		return fmt.Sprintf("%.1fM", perSecond/1e6)
	case perSecond >= 1e4:
		return fmt.Sprintf("%.1fk", perSecond/1e3)
	default:
		return fmt.Sprintf("%.0f", perSecond)
	}
}

// align formats rows as a table, each with its style.
func align(rows [][]string, styles []style) []topLine {
	var text bytes.Buffer
	t := newTable(&text)
	for _, row := range rows {
		t.row(row...)
	}
	_ = t.flush() // a buffer takes everything
	lines := make([]topLine, 0, len(rows))
	for i, line := range strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n") {
		lines = append(lines, topLine{line, styles[i]})
	}
	return lines
}
