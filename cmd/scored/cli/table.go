package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// schema is the version of what --json prints. It changes when a field is
// renamed, removed or gets another meaning; new fields do not change it.
const schema = 1

// table prints aligned columns.
type table struct {
	writer *tabwriter.Writer
}

func newTable(out io.Writer, headings ...string) *table {
	t := &table{writer: tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)}
	if len(headings) > 0 {
		t.row(headings...)
	}
	return t
}

// row adds a line. Cells hold no tabs or line ends.
func (t *table) row(cells ...string) {
	fmt.Fprintln(t.writer, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
}

// flush prints the table.
func (t *table) flush() error { return t.writer.Flush() }

// printJSON prints one object for programs. Its first member is the schema.
func printJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
