package cmdline

import "github.com/spf13/cobra"

// maxTyped is the longest word, in bytes, that Hint compares with others.
const maxTyped = 64

// Hint returns the end of an error that refuses a typed word: "; did you mean WORD?", or "" if no
// word is similar. Cobra suggests only commands, so the words become commands here.
func Hint(typed string, words []string) string {
	if typed == "" || len(typed) > maxTyped {
		return ""
	}
	var root cobra.Command
	for _, word := range words {
		root.AddCommand(&cobra.Command{Use: word, Run: func(*cobra.Command, []string) {}})
	}
	for edits := 1; edits <= min(2, len(typed)/2); edits++ { // with more, any two short words are similar
		root.SuggestionsMinimumDistance = edits
		if near := root.SuggestionsFor(typed); len(near) > 0 {
			return "; did you mean " + near[0] + "?"
		}
	}
	return ""
}
