package cli

import (
	"errors"
	"fmt"
	"score/cmd/cmdline"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagError rewrites errors of options for users. For a malformed number or switch, the library
// would quote its own parser. For an unknown option it names a similar one.
func flagError(command *cobra.Command, err error) error {
	invalid, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return cmdline.FlagError(command, err)
	}
	cause := invalid.Unwrap()
	if _, ok := errors.AsType[*strconv.NumError](cause); ok {
		cause = errors.New("write a whole number from 0 on")
		if invalid.GetFlag().Value.Type() == "bool" {
			cause = errors.New("it is true or false")
		}
	}
	return fmt.Errorf("--%s %q: %w", invalid.GetFlag().Name, invalid.GetValue(), cause)
}
