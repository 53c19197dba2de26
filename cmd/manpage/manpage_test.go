package manpage

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

func TestRender(t *testing.T) {
	root := &cobra.Command{Use: "tool", Short: "do things", Run: func(*cobra.Command, []string) {}}
	root.PersistentFlags().String("cluster", "", "the `socket`")
	child := &cobra.Command{
		Use: "sub-do THING", Short: "do one thing", Run: func(*cobra.Command, []string) {},
		Long:    "Does it.\n.dots and 'quotes' and \\backslashes-\n\n  kept as\n  it is",
		Example: "  tool sub-do x",
	}
	child.Flags().BoolP("all", "a", false, "every thing")
	child.Flags().Int("count", 0, "how `many`")
	child.Flags().Duration("every", time.Second, "the `time` between")
	child.Flags().Bool("secret", false, "not shown")
	if err := child.Flags().MarkHidden("secret"); err != nil {
		t.Fatal(err)
	}
	root.AddCommand(child, &cobra.Command{Use: "hidden", Hidden: true, Run: func(*cobra.Command, []string) {}})
	page := Page{Command: child, Extra: [][2]string{{"EXIT STATUS", "Zero."}}, SeeAlso: []string{"other"}}
	if page.Name() != "tool-sub-do.1" {
		t.Errorf("its name is %s", page.Name())
	}
	const want = `.TH "TOOL-SUB-DO" 1 "" "score" "User commands"
.SH "NAME"
tool\-sub\-do \- do one thing
.SH "SYNOPSIS"
.B tool sub\-do THING [options]
.SH "DESCRIPTION"
Does it.
\&.dots and 'quotes' and \ebackslashes\-
.PP
.nf
  kept as
  it is
.fi
.SH "OPTIONS"
.TP
\fB\-a, \-\-all\fR
Every thing.
.TP
\fB\-\-count\fR \fImany\fR
How many.
.TP
\fB\-\-every\fR \fItime\fR
The time between (default: 1s).
.SH "OPTIONS OF ALL COMMANDS"
.TP
\fB\-\-cluster\fR \fIsocket\fR
The socket.
.SH "EXAMPLES"
.nf
  tool sub\-do x
.fi
.SH "EXIT STATUS"
Zero.
.SH "SEE ALSO"
.BR other (1),
.BR tool (1)
`
	if diff := cmp.Diff(want, page.Render()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := len(Visible(root)); got != 1 {
		t.Errorf("%d visible commands, want 1", got)
	}
}
