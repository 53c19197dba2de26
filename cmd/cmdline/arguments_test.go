package cmdline

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestWhatACommandDoesNotHave(t *testing.T) {
	for line, want := range map[string]string{
		"job canel 3":         "unknown command 'scored job canel'; did you mean cancel?; 'scored job --help' lists the commands",
		"jobs":                "unknown command 'scored jobs'; did you mean job?; 'scored --help' lists the commands",
		"squeue":              "unknown command 'scored squeue'; 'scored --help' lists the commands",
		"job cancel 3":        "'scored job cancel' takes no arguments, and 3 is one; 'scored job cancel --help' explains it",
		"job cancel --sinec":  "unknown option --sinec; did you mean --since?; 'scored job cancel --help' lists the options",
		"job cancel --colour": "unknown option --colour; 'scored job cancel --help' lists the options",
		"job cancel -xs":      "unknown option -x; 'scored job cancel --help' lists the options",
		"job cancel --since":  "the option --since needs a value",
	} {
		run := func(*cobra.Command, []string) {}
		root := &cobra.Command{Use: "scored", Args: NoArgs, Run: run, SilenceErrors: true, SilenceUsage: true}
		job := &cobra.Command{Use: "job", Args: NoArgs, Run: run}
		cancel := &cobra.Command{Use: "cancel", Args: NoArgs, Run: run}
		cancel.Flags().String("since", "", "")
		root.SetFlagErrorFunc(FlagError)
		root.AddCommand(job)
		job.AddCommand(cancel)
		root.SetArgs(strings.Fields(line))
		if err := root.Execute(); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}
