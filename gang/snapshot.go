package gang

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Snapshot is the matrix for display.
type Snapshot struct {
	Nodes   []NodeState
	Rows    []RowState // rows with a gang at home, by index
	Waiting int
}

// NodeState is a column.
type NodeState struct {
	Node
	Drained    bool
	FreeMemory int64 // bytes not reserved
	Gangs      int   // in all rows
	// UsedChannels is as in Machine.UsedChannels.
	UsedChannels int
}

// RowState is a row. CPUs holds, per node in the order of Snapshot.Nodes, the use of each CPU.
type RowState struct {
	Index int
	Slice time.Duration // 0 while no gang at home in this row may run
	CPUs  [][]CPUState
}

// CPUState is the use of a CPU in a row. If jobs of a gang share the CPU, Job is the lowest of
// them.
type CPUState struct {
	Job   JobID // 0: free
	Guest bool  // at home in another row
}

// Matrix returns a copy of the matrix.
func (m *Machine) Matrix() Snapshot {
	s := Snapshot{Waiting: m.Waiting()}
	for pos, n := range m.nodes {
		s.Nodes = append(s.Nodes, NodeState{
			Node: n.Node, Drained: n.drained,
			FreeMemory: m.grid.mem[pos], Gangs: int(m.grid.gangs[pos]),
		})
	}
	active := m.Rows()
	used := m.UsedChannels()
	for i := range s.Nodes {
		s.Nodes[i].UsedChannels = used[s.Nodes[i].ID]
	}
	for r := range m.grid.rows {
		if m.grid.rows[r].gangs == 0 {
			continue
		}
		row := RowState{Index: r}
		for _, n := range m.nodes {
			row.CPUs = append(row.CPUs, make([]CPUState, n.CPUs))
		}
		at := slices.IndexFunc(active, func(a RotationRow) bool { return a.Index == r })
		if at >= 0 {
			row.Slice = active[at].Slice
			for _, ga := range m.residents[at] {
				row.paint(ga)
			}
		}
		for _, ga := range m.gangs {
			if ga.row == r {
				row.paint(ga)
			}
		}
		s.Rows = append(s.Rows, row)
	}
	return s
}

// paint enters a gang's jobs at CPUs without an entry.
func (r *RowState) paint(ga *gang) {
	for _, j := range ga.members {
		state := CPUState{Job: j.req.ID, Guest: ga.row != r.Index}
		for i := range j.nodeShares {
			r.paintShare(&j.nodeShares[i], state)
		}
	}
}

func (r *RowState) paintShare(s *nodeShare, state CPUState) {
	cpus := r.CPUs[s.node.pos]
	for c := range cpus {
		if cpus[c].Job == 0 && hasBit(s.cpus, c) {
			cpus[c] = state
		}
	}
}

// String draws the matrix: one letter per CPU, which stands for a job. The letter is small if the
// job is a guest; a dot is a free CPU. Letters repeat after 26 jobs; the last line explains them.
func (s Snapshot) String() string {
	letters, legend := s.letters()
	var b strings.Builder
	b.WriteString("row  slice")
	for i := range s.Nodes {
		fmt.Fprintf(&b, "  %-*s", s.width(i), s.Nodes[i].ID)
	}
	b.WriteString("\n")
	for _, row := range s.Rows {
		fmt.Fprintf(&b, "%-3d  %5s", row.Index, row.Slice)
		for i, cpus := range row.CPUs {
			text := make([]byte, len(cpus))
			for c, cpu := range cpus {
				text[c] = letterOf(cpu, letters)
			}
			fmt.Fprintf(&b, "  %-*s", s.width(i), text)
		}
		b.WriteString("\n")
	}
	b.WriteString(legend)
	return trimLines(b.String())
}

func (s Snapshot) width(node int) int { return max(len(s.Nodes[node].ID), s.Nodes[node].CPUs) }

// letters assigns letters to jobs in the order of their ids, and returns the last line of the
// drawing.
func (s Snapshot) letters() (map[JobID]byte, string) {
	ids := s.jobs()
	letters := make(map[JobID]byte, len(ids))
	legend := make([]string, len(ids))
	for i, id := range ids {
		letters[id] = 'A' + byte(i%26)
		legend[i] = fmt.Sprintf("%c=%d", letters[id], id)
	}
	if len(ids) == 0 {
		return letters, ""
	}
	return letters, strings.Join(legend, " ") + "\n"
}

// jobs returns the jobs that have CPUs, ascending.
func (s Snapshot) jobs() (ids []JobID) {
	for _, row := range s.Rows {
		for _, cpu := range slices.Concat(row.CPUs...) {
			if cpu.Job != 0 {
				ids = append(ids, cpu.Job)
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func letterOf(cpu CPUState, letters map[JobID]byte) byte {
	switch {
	case cpu.Job == 0:
		return '.'
	case cpu.Guest:
		return letters[cpu.Job] - 'A' + 'a'
	}
	return letters[cpu.Job]
}

func trimLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}
