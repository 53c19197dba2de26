package cli

import (
	"score/cmd/cmdline"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// span is the value of an option that is a time with its unit.
type span time.Duration

// addSpan adds an option to flags; *at has its default.
func addSpan(flags *pflag.FlagSet, at *time.Duration, name, shorthand, usage string) {
	flags.VarP((*span)(at), name, shorthand, usage)
}

// Set implements pflag.Value.
func (s *span) Set(text string) error {
	value, err := cmdline.ParseSpan(text)
	*s = span(value)
	return err
}

// String implements pflag.Value.
func (s *span) String() string {
	if *s == 0 {
		return "0" // for pflag: no default
	}
	return plainTime(time.Duration(*s))
}

// Type implements pflag.Value.
func (s *span) Type() string { return "time" }

// plainTime formats a duration without units that are zero: 1m, not 1m0s.
func plainTime(d time.Duration) string {
	text := d.String()
	if short, ok := strings.CutSuffix(text, "m0s"); ok {
		text = short + "m"
	}
	if short, ok := strings.CutSuffix(text, "h0m"); ok {
		text = short + "h"
	}
	return text
}
