package options

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"score/scored/api/scorev1"
)

// checkTexts refuses what the cluster cannot carry: its messages and its log hold texts in UTF-8 only.
func checkTexts(spec *scorev1.JobSpec) error {
	if !utf8.ValidString(spec.GetWorkDir()) {
		return fmt.Errorf("the directory %q is not UTF-8, and the cluster takes no other: choose another one with -D", spec.GetWorkDir())
	}
	for i, argument := range spec.GetArgv() {
		switch {
		case utf8.ValidString(argument):
		case i == 0:
			return fmt.Errorf("the program's name %q is not UTF-8, and the cluster takes no other: rename the program", argument)
		default:
			return fmt.Errorf("argument %d, %q, is not UTF-8, and the cluster takes no other: give it to the program in a file or by its input", i, argument)
		}
	}
	for _, variable := range spec.GetEnv() {
		if utf8.ValidString(variable) {
			continue
		}
		name, _, _ := strings.Cut(variable, "=")
		return fmt.Errorf("the environment variable %q is not UTF-8, and the cluster takes no other: unset it, or leave it out with --export", name)
	}
	return nil
}
