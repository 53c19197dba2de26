package cli

import (
	"fmt"
	"io"
	"score/cmd/cmdline"
	"score/scored/api/scorev1"
	"score/scored/client"
	"slices"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
)

func matrixCommand(c *caller) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "matrix",
		Short: "show the gang matrix: rows are time slots, columns are nodes",
		Long: `Shows the gang matrix: rows are time slots, columns are nodes. The jobs of a row
run at the same instants on all their nodes. A * marks the row that is on now, a
+ a job whose home is another row and which runs in this one too.`,
		Args: cmdline.NoArgs,
		RunE: c.with(func(command *cobra.Command, _ []string, daemon *client.Client) error {
			reply, err := daemon.Cluster.GetMatrix(command.Context(), connect.NewRequest(&scorev1.GetMatrixRequest{}))
			if err != nil {
				return err
			}
			if asJSON {
				return printMatrixJSON(command.OutOrStdout(), reply.Msg)
			}
			return printMatrix(command.OutOrStdout(), reply.Msg)
		}),
	}
	AddJSON(command, &asJSON)
	return command
}

type rowData struct {
	Index      uint32     `json:"index"`
	SliceNanos int64      `json:"slice_nanos"`
	Cells      []cellData `json:"cells"`
}

type cellData struct {
	Node      string   `json:"node"`
	Job       uint64   `json:"job"`
	Alternate bool     `json:"alternate"`
	CPUs      []uint32 `json:"cpus"`
}

func printMatrixJSON(out io.Writer, matrix *scorev1.GetMatrixResponse) error {
	return printJSON(out, struct {
		Term        uint64    `json:"term"`
		PlanVersion uint64    `json:"plan_version"`
		RowOn       int32     `json:"row_on"`
		Rows        []rowData `json:"rows"`
	}{matrix.GetTerm(), matrix.GetPlanVersion(), matrix.GetRowOn(), newRowsData(matrix)})
}

func newRowsData(matrix *scorev1.GetMatrixResponse) []rowData {
	rows := make([]rowData, 0, len(matrix.GetRows()))
	for _, row := range matrix.GetRows() {
		cells := make([]cellData, 0, len(row.GetCells()))
		for _, cell := range row.GetCells() {
			cells = append(cells, cellData{cell.GetNode(), cell.GetJobId(), cell.GetAlternate(), nonNil(cell.GetCpus())})
		}
		rows = append(rows, rowData{row.GetIndex(), row.GetSliceNanos(), cells})
	}
	return rows
}

func printMatrix(out io.Writer, matrix *scorev1.GetMatrixResponse) error {
	if len(matrix.GetRows()) == 0 {
		_, err := fmt.Fprintln(out, "no job runs")
		return err
	}
	nodes := matrixNodes(matrix)
	t := newTable(out, append([]string{"ROW", "SLICE"}, nodes...)...)
	for _, row := range matrix.GetRows() {
		mark := ""
		if int32(row.GetIndex()) == matrix.GetRowOn() {
			mark = "*"
		}
		cells := []string{strconv.Itoa(int(row.GetIndex())) + mark, shortTime(time.Duration(row.GetSliceNanos()))}
		for _, node := range nodes {
			cells = append(cells, matrixCell(row, node))
		}
		t.row(cells...)
	}
	return t.flush()
}

func matrixNodes(matrix *scorev1.GetMatrixResponse) []string {
	var nodes []string
	for _, row := range matrix.GetRows() {
		for _, cell := range row.GetCells() {
			if !slices.Contains(nodes, cell.GetNode()) {
				nodes = append(nodes, cell.GetNode())
			}
		}
	}
	slices.Sort(nodes)
	return nodes
}

// matrixCell lists the jobs of a node in a row.
func matrixCell(row *scorev1.MatrixRow, node string) string {
	var jobs []string
	for _, cell := range row.GetCells() {
		if cell.GetNode() != node {
			continue
		}
		job := strconv.FormatUint(cell.GetJobId(), 10)
		if cell.GetAlternate() {
			job += "+"
		}
		jobs = append(jobs, job)
	}
	return orDash(strings.Join(jobs, " "))
}
