package options

import (
	"errors"

	"github.com/spf13/pflag"
)

// errDigit means that a digit stands alone, without the option to which it belongs.
var errDigit = errors.New("there is no such option")

// digit is the 0 or 1 of -K0 and -K1. Package pflag does not accept the value of an option with an
// optional value in the same word: it takes the digit for the next option.
type digit struct {
	options *Options
	text    string
}

// addDigits accepts -K0 and -K1, as srun does.
func (o *Options) addDigits(flags *pflag.FlagSet) {
	for _, text := range []string{"0", "1"} {
		flag := flags.VarPF(&digit{o, text}, "kill-on-bad-exit-"+text, text, "")
		flag.NoOptDefVal, flag.Hidden = text, true
	}
}

// Set implements pflag.Value.
func (d *digit) Set(string) error {
	if !d.options.KillOnBadExit { // no -K before it
		return errDigit
	}
	d.options.KillOnBadExit = d.text == "1"
	return nil
}

// String implements pflag.Value.
func (d *digit) String() string { return "" }

// Type implements pflag.Value.
func (d *digit) Type() string { return "" }
