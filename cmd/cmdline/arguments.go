package cmdline

import (
	"errors"
	"fmt"
	"score/scored/api/quote"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// NoArgs refuses arguments like cobra.NoArgs, with an error that says what to do instead.
func NoArgs(command *cobra.Command, arguments []string) error {
	if len(arguments) == 0 {
		return nil
	}
	typed, path := arguments[0], command.CommandPath()
	if !command.HasAvailableSubCommands() {
		return fmt.Errorf("'%s' takes no arguments, and %s is one; '%s --help' explains it", path, quote.Word(typed), path)
	}
	var names []string
	for _, one := range command.Commands() {
		if one.IsAvailableCommand() {
			names = append(names, one.Name())
		}
	}
	return fmt.Errorf("unknown command '%s %s'%s; '%s --help' lists the commands", path, quote.Word(typed), Hint(typed, names), path)
}

// FlagError words two errors of options for users: an unknown option, for which it names a similar
// one, and an option without its value. It returns other errors as they are.
func FlagError(command *cobra.Command, err error) error {
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return fmt.Errorf("the option --%s needs a value", missing.GetFlag().Name)
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return err
	}
	typed := TypedOption(unknown)
	return fmt.Errorf("unknown option %s%s; '%s --help' lists the options", quote.Word(typed), HintOption(typed, command.Flags()), command.CommandPath())
}

// TypedOption returns an unknown option as the user wrote it.
func TypedOption(unknown *pflag.NotExistError) string {
	if unknown.GetSpecifiedShortnames() != "" {
		return "-" + unknown.GetSpecifiedName()
	}
	return "--" + unknown.GetSpecifiedName()
}

// HintOption is like Hint, for the options that --help shows.
func HintOption(typed string, flags *pflag.FlagSet) string {
	var names []string
	flags.VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			names = append(names, "--"+flag.Name)
		}
	})
	return Hint(typed, names)
}
