package options

import "github.com/spf13/cobra"

// flagWords are the words of the flags that take one of a few.
var flagWords = map[string][]cobra.Completion{
	"distribution": {"block", "cyclic"},
	"exchange":     {"auto", "tree", "ring", "bruck"},
	"fabric":       {"auto", "pm", "none"},
	"mpi":          {"pmix", "pmi", "none"},
	"stage":        {"usual", "program", "all", "none"},
}

// completeWords has shells offer them.
func completeWords(command *cobra.Command) {
	for flag, words := range flagWords {
		_ = command.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)) // it fails without the flag
	}
}
