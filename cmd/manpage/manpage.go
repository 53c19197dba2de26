// Package manpage renders help texts, manual pages and shell completions from cobra commands, so
// that they agree.
//
// Cobra's own generator (cobra/doc) is not used: it reads help texts as Markdown, which they are
// not, omits exit codes and the list of commands, and needs two more modules. Pages have no date,
// so the same commands render to the same bytes.
//
//	text := manpage.Page{Command: root}.Render()
package manpage

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Page is one manual page of section 1.
type Page struct {
	Command *cobra.Command
	// Extra holds further sections: title and text.
	Extra [][2]string
	// SeeAlso names other pages of section 1.
	SeeAlso []string
}

// Name returns the page's file name, such as scored-job-list.1.
func (p Page) Name() string { return p.title() + ".1" }

func (p Page) title() string {
	return strings.ReplaceAll(p.Command.CommandPath(), " ", "-")
}

// Render returns the page.
func (p Page) Render() string {
	var out strings.Builder
	c := p.Command
	fmt.Fprintf(&out, ".TH %q 1 \"\" \"score\" \"User commands\"\n", strings.ToUpper(p.title()))
	section(&out, "NAME")
	fmt.Fprintf(&out, "%s \\- %s\n", escape(p.title()), escape(c.Short))
	section(&out, "SYNOPSIS")
	fmt.Fprintf(&out, ".B %s\n", strings.Join(escaped(synopsis(c)), "\n.br\n.B "))
	section(&out, "DESCRIPTION")
	paragraphs(&out, describe(c))
	p.commands(&out)
	options(&out, "OPTIONS", c.NonInheritedFlags())
	options(&out, "OPTIONS OF ALL COMMANDS", c.InheritedFlags())
	if c.Example != "" {
		section(&out, "EXAMPLES")
		fmt.Fprintf(&out, ".nf\n%s\n.fi\n", escape(c.Example))
	}
	for _, extra := range p.Extra {
		section(&out, extra[0])
		paragraphs(&out, extra[1])
	}
	p.seeAlso(&out)
	return out.String()
}

// synopsis returns the forms of the command line. A command that takes no flags beside others only
// holds them.
func synopsis(c *cobra.Command) (forms []string) {
	holds := len(Visible(c)) > 0
	if !holds || !c.DisableFlagsInUseLine {
		forms = append(forms, strings.Replace(c.UseLine(), " [flags]", " [options]", 1))
	}
	if holds {
		forms = append(forms, c.CommandPath()+" COMMAND [arguments]")
	}
	return forms
}

// describe returns the description of a command.
func describe(c *cobra.Command) string {
	if c.Long != "" {
		return c.Long
	}
	return sentence(c.Short)
}

func sentence(short string) string {
	return strings.ToUpper(short[:1]) + short[1:] + "."
}

func section(out *strings.Builder, title string) {
	fmt.Fprintf(out, ".SH %q\n", title)
}

// paragraphs writes text. It keeps indented paragraphs as they are; man fills the others.
func paragraphs(out *strings.Builder, text string) {
	for i, paragraph := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			out.WriteString(".PP\n")
		}
		if strings.HasPrefix(paragraph, " ") {
			fmt.Fprintf(out, ".nf\n%s\n.fi\n", escape(paragraph))
			continue
		}
		out.WriteString(escape(paragraph) + "\n")
	}
}

func (p Page) commands(out *strings.Builder) {
	children := Visible(p.Command)
	if len(children) == 0 {
		return
	}
	section(out, "COMMANDS")
	for _, child := range children {
		fmt.Fprintf(out, ".TP\n.B %s\n%s\n", escape(child.Name()), escape(sentence(child.Short)))
	}
}

// Visible returns the subcommands of c that have a page.
func Visible(c *cobra.Command) []*cobra.Command {
	var visible []*cobra.Command
	for _, child := range c.Commands() {
		if child.IsAvailableCommand() && child.Name() != "help" && child.Name() != "completion" {
			visible = append(visible, child)
		}
	}
	return visible
}

func options(out *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	section(out, title)
	flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Hidden {
			return
		}
		kind, usage := pflag.UnquoteUsage(flag)
		names := `\-\-` + escape(flag.Name)
		if flag.Shorthand != "" {
			names = `\-` + escape(flag.Shorthand) + ", " + names
		}
		fmt.Fprintf(out, ".TP\n\\fB%s\\fR", names)
		if kind != "" {
			fmt.Fprintf(out, " \\fI%s\\fR", escape(kind))
		}
		fmt.Fprintf(out, "\n%s\n", escape(sentence(usage+defaultNote(flag))))
	})
}

// defaultNote returns the note about an option's default, or "" for an empty default.
func defaultNote(flag *pflag.Flag) string {
	switch flag.DefValue {
	case "", "0", "0s", "false", "[]":
		return ""
	default:
		return " (default: " + flag.DefValue + ")"
	}
}

func (p Page) seeAlso(out *strings.Builder) {
	others := append([]string(nil), p.SeeAlso...)
	if p.Command.HasParent() {
		others = append(others, strings.ReplaceAll(p.Command.Parent().CommandPath(), " ", "-"))
	}
	for _, child := range Visible(p.Command) {
		others = append(others, strings.ReplaceAll(child.CommandPath(), " ", "-"))
	}
	if len(others) == 0 {
		return
	}
	section(out, "SEE ALSO")
	for i, other := range others {
		comma := ","
		if i == len(others)-1 {
			comma = ""
		}
		fmt.Fprintf(out, ".BR %s (1)%s\n", escape(other), comma)
	}
}

// escaped escapes each of the texts in place.
func escaped(texts []string) []string {
	for i, text := range texts {
		texts[i] = escape(text)
	}
	return texts
}

// escape keeps roff from reading text as requests: backslashes, hyphens that users type, and a dot
// or quote at the beginning of a line.
func escape(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

// Completions returns the command's completion scripts by file name, relative to the directory of
// packaging files.
func Completions(command *cobra.Command) (map[string]string, error) {
	var bash, zsh, fish bytes.Buffer
	err := errors.Join(
		command.GenBashCompletionV2(&bash, true),
		command.GenZshCompletion(&zsh),
		command.GenFishCompletion(&fish, true),
	)
	return map[string]string{
		"completion/" + command.Name() + ".bash": bash.String(),
		"completion/_" + command.Name():          zsh.String(),
		"completion/" + command.Name() + ".fish": fish.String(),
	}, err
}
