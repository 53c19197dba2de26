package cli

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/pflag"
)

// flagError says of a number or switch that is none what it should be, where the library tells of
// its own parser.
func flagError(err error) error {
	invalid, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
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
