package cli

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// elsewhere are the commands of other packages that the advice names.
var elsewhere = []string{"scored join", "scored snapshot restore"}

// What users of other systems type is answered with commands that there are.
func TestForeign(t *testing.T) {
	root := Root()
	root.AddCommand(parent("server", "", ServerCommands()...))
	find := func(path string) *cobra.Command {
		command, rest, err := root.Find(strings.Fields(path)[1:])
		if err != nil || len(rest) > 0 {
			return nil
		}
		return command
	}
	quoted := regexp.MustCompile(`'(scored [^']*)'`)
	for path, words := range foreign {
		parent := find(path)
		if parent == nil {
			t.Errorf("there is no command %q", path)
			continue
		}
		for word, instead := range words {
			if slices.ContainsFunc(parent.Commands(), func(c *cobra.Command) bool { return c.Name() == word || c.HasAlias(word) }) {
				t.Errorf("there is a command '%s %s'", path, word)
			}
			for _, found := range quoted.FindAllStringSubmatch(instead, -1) {
				if command := commandIn(found[1]); find(command) == nil && !slices.Contains(elsewhere, command) {
					t.Errorf("%s %s: there is no command %q either", path, word, command)
				}
			}
		}
	}
}

// commandIn returns the command at the beginning of a line: "scored job cancel".
func commandIn(line string) string {
	words := strings.Fields(line)
	end := slices.IndexFunc(words, func(word string) bool {
		return strings.HasPrefix(word, "-") || word == "|" || strings.ToUpper(word) == word
	})
	if end >= 0 {
		words = words[:end]
	}
	return strings.Join(words, " ")
}
