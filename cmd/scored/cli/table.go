package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"score/scored/api/quote"
	"strings"
	"text/tabwriter"
)

// schema is the version of the output of --json. It changes if a field is renamed, removed or gets
// another meaning, but not for new fields.
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

// row adds a line. It escapes what is not printable: many texts are those of users, programs and
// nodes, and a line end or an escape sequence in one would look like a line of another.
func (t *table) row(cells ...string) {
	shown := make([]string, len(cells))
	for i, cell := range cells {
		shown[i] = printable(cell)
	}
	fmt.Fprintln(t.writer, strings.TrimRight(strings.Join(shown, "\t"), "\t"))
}

// flush prints the table.
func (t *table) flush() error { return t.writer.Flush() }

// printJSON prints one object for programs, with the schema as its first member.
func printJSON(out io.Writer, object any) error {
	text, err := encodeJSON(object, "")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "{\n  \"schema\": %d,%s", schema, text[1:])
	return err
}

// printJSONLine does the same on a line.
func printJSONLine(out io.Writer, object any) error {
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "{\"schema\":%d,%s\n", schema, quote.JSON(text)[1:])
	return err
}

// printJSONList prints an object with one list, of what data makes of each element.
func printJSONList[T, D any](out io.Writer, name string, all []T, data func(T) D) error {
	list := newJSONList(out, name)
	for _, v := range all {
		if err := list.add(data(v)); err != nil {
			return err
		}
	}
	return list.close()
}

// encodeJSON returns a value as lines that begin with prefix, but for the first.
func encodeJSON(value any, prefix string) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent(prefix, "  ")
	err := encoder.Encode(value)
	return quote.JSON(text.Bytes()), err
}

// jsonList prints an object with one list, like printJSON, but element by element, so that the
// whole list need not be in memory.
type jsonList struct {
	out   io.Writer
	name  string
	begun bool
}

func newJSONList(out io.Writer, name string) *jsonList { return &jsonList{out: out, name: name} }

// add prints one element. Nothing is printed before the first element, so that an earlier failure
// leaves no incomplete object.
func (l *jsonList) add(element any) error {
	text, err := encodeJSON(element, "    ")
	if err != nil {
		return err
	}
	head := ","
	if !l.begun {
		head = l.head()
	}
	l.begun = true
	_, err = fmt.Fprintf(l.out, "%s\n    %s", head, bytes.TrimRight(text, "\n"))
	return err
}

func (l *jsonList) head() string { return fmt.Sprintf("{\n  \"schema\": %d,\n  %q: [", schema, l.name) }

// close ends the object.
func (l *jsonList) close() error {
	end := "\n  ]\n}"
	if !l.begun {
		end = l.head() + "]\n}"
	}
	_, err := fmt.Fprintln(l.out, end)
	return err
}
