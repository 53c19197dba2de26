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
	if _, ok := errors.AsType[*strconv.NumError](invalid.Unwrap()); !ok {
		return err
	}
	should := "write a whole number from 0 on"
	if invalid.GetFlag().Value.Type() == "bool" {
		should = "it is true or false"
	}
	return fmt.Errorf("--%s %q: %s", invalid.GetFlag().Name, invalid.GetValue(), should)
}
