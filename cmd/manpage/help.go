package manpage

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// HelpWidth is the width of the narrowest terminal in use, in columns.
const HelpWidth = 80

// Help returns the text that --help prints. cobra's own templates do not wrap lines.
func Help(c *cobra.Command) string {
	var out strings.Builder
	out.WriteString(wrapText(describe(c)) + "\n\nUsage:\n  " + strings.Join(synopsis(c), "\n  ") + "\n")
	if len(c.Aliases) > 0 {
		fmt.Fprintf(&out, "\nAlso called: %s\n", strings.Join(c.Aliases, ", "))
	}
	if c.Example != "" {
		fmt.Fprintf(&out, "\nExamples:\n%s\n", c.Example)
	}
	helpCommands(&out, c)
	if flags := c.LocalFlags(); flags.HasAvailableFlags() {
		fmt.Fprintf(&out, "\nOptions:\n%s", withColons(flags.FlagUsagesWrapped(HelpWidth)))
	}
	if flags := c.InheritedFlags(); flags.HasAvailableFlags() {
		fmt.Fprintf(&out, "\nOptions of all commands:\n%s", withColons(flags.FlagUsagesWrapped(HelpWidth)))
	}
	return out.String()
}

// helpCommands writes the commands of a command, by their groups.
func helpCommands(out *strings.Builder, c *cobra.Command) {
	children := Visible(c)
	if len(children) == 0 {
		return
	}
	width := 0
	for _, child := range children {
		width = max(width, len(child.Name()))
	}
	for _, group := range append(c.Groups(), &cobra.Group{Title: "Commands:"}) {
		title := "\n" + group.Title + "\n"
		for _, child := range children {
			if child.GroupID == group.ID {
				out.WriteString(title + wrapLine(fmt.Sprintf("  %-*s  %s", width, child.Name(), child.Short)) + "\n")
				title = ""
			}
		}
	}
	fmt.Fprintf(out, "\n'%s COMMAND --help' explains one of them.\n", c.CommandPath())
}

// unlikeOurs matches pflag's note of a default.
var unlikeOurs = regexp.MustCompile(`\(default(\s+)"?([^"():]+)"?\)`)

// withColons writes pflag's notes of defaults as the usages themselves have them.
func withColons(usages string) string { return unlikeOurs.ReplaceAllString(usages, "(default:$1$2)") }

// wrapText fills paragraphs. It keeps the lines of indented ones, and wraps those that are too
// long.
func wrapText(text string) string {
	paragraphs := strings.Split(strings.TrimSpace(text), "\n\n")
	for i, paragraph := range paragraphs {
		if !strings.HasPrefix(paragraph, " ") {
			paragraphs[i] = wrapLine(strings.Join(strings.Fields(paragraph), " "))
			continue
		}
		lines := strings.Split(paragraph, "\n")
		for k, line := range lines {
			lines[k] = wrapLine(line)
		}
		paragraphs[i] = strings.Join(lines, "\n")
	}
	return strings.Join(paragraphs, "\n\n")
}

// term matches the first column of a table, or the indentation of another line.
var term = regexp.MustCompile(`^ +(\S+ {2,})?`)

// wrapLine breaks a line between words. In a table it keeps to the second column.
func wrapLine(line string) string {
	if len(line) <= HelpWidth {
		return line
	}
	head := term.FindString(line)
	indent := strings.Repeat(" ", len(head))
	var out strings.Builder
	out.WriteString(head)
	column := len(head)
	for i, word := range strings.Fields(line[len(head):]) {
		switch {
		case i == 0:
		case column+1+len(word) > HelpWidth:
			out.WriteString("\n" + indent)
			column = len(indent)
		default:
			out.WriteByte(' ')
			column++
		}
		out.WriteString(word)
		column += len(word)
	}
	return out.String()
}
