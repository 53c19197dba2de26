package options

import "github.com/spf13/cobra"

// flagWords are the values of the flags that take one of a few words.
var flagWords = map[string][]cobra.Completion{
	"distribution": {"block", "cyclic"},
	"exchange":     {"auto", "tree", "ring", "bruck"},
	"fabric":       {"auto", "pm", "none"},
	"mpi":          {"pmix", "pmi", "none"},
	"stage":        {"usual", "program", "all", "none"},
}

// completeWords makes shells offer these words.
func completeWords(command *cobra.Command) {
	for flag, words := range flagWords {
		_ = command.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)) // it fails without the flag
	}
}
