package cli

import (
	"errors"
	"fmt"
	"score/cmd/cmdline"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagError says of a number or switch that is none what it should be, where the library tells of
// its own parser, and of an unknown option which is near.
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
