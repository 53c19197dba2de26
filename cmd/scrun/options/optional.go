package options

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// optional are the options with an optional value, and their possible values.
var optional = map[string][]string{"stage": flagWords["stage"], "kill-on-bad-exit": {"0", "1"}}

// checkOptional refuses a value after such an option without "=": it would be taken for the
// program.
func (o *Options) checkOptional(flags *pflag.FlagSet) error {
	if o.Version {
		return nil
	}
	word := o.Argv[0]
	for name, values := range optional {
		if !flags.Changed(name) || !slices.Contains(values, word) {
			continue
		}
		if _, err := exec.LookPath(word); err != nil {
			return fmt.Errorf("%s is no program: write --%s=%s for the value of that option", word, name, word)
		}
	}
	if o.Detach && isDependency(word) {
		return fmt.Errorf("%s is no program: -d detaches the job here; --dependency names the jobs that must start or end first", word)
	}
	return nil
}

// dependencies are the words with which the value of srun's -d begins.
var dependencies = []string{"after", "afterany", "afterburstbuffer", "aftercorr", "afternotok", "afterok"}

// isDependency reports whether a word is a value of srun's -d and not a program's name.
func isDependency(word string) bool {
	kind, _, found := strings.Cut(word, ":")
	if word != "singleton" && (!found || !slices.Contains(dependencies, kind)) {
		return false
	}
	_, err := exec.LookPath(word)
	return err != nil
}
