package options

import (
	"errors"
	"fmt"
	"math"
	"score/cmd/cmdline"
	"score/scored/api/quote"
	"strconv"

	"github.com/spf13/pflag"
)

// parsed is a flag with a function that reads its text, so that errors are sentences for users.
type parsed[T any] struct {
	target *T
	parse  func(string) (T, error)
	text   string
	kind   string
}

func newParsed[T any](target *T, kind string, parse func(string) (T, error)) *parsed[T] {
	return &parsed[T]{target: target, parse: parse, kind: kind}
}

// Set implements pflag.Value.
func (p *parsed[T]) Set(text string) error {
	value, err := p.parse(text)
	if err != nil {
		return err
	}
	*p.target, p.text = value, text
	return nil
}

// String implements pflag.Value.
func (p *parsed[T]) String() string { return p.text }

// Type implements pflag.Value.
func (p *parsed[T]) Type() string { return p.kind }

// flagError converts pflag's errors into one sentence.
func flagError(flags *pflag.FlagSet, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		cause := invalid.Unwrap()
		if errors.Is(cause, errDigit) {
			return noOption(flags, "-"+invalid.GetFlag().Shorthand, "")
		}
		if _, ok := errors.AsType[*strconv.NumError](cause); ok {
			cause = errors.New("it is true or false") // numbers are read by us
		}
		letter := invalid.GetFlag().Shorthand
		if word := letter + invalid.GetValue(); letter != "" && foreign[word] != "" { // -np, which is -n with a value here
			return noOption(flags, "-"+word, word)
		}
		return fmt.Errorf("--%s %s: %w", invalid.GetFlag().Name, quote.Word(invalid.GetValue()), cause)
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if word := unknown.GetSpecifiedShortnames(); foreign[word] != "" { // mpirun has words after one dash
			return noOption(flags, "-"+word, word)
		}
		return noOption(flags, quote.Word(cmdline.TypedOption(unknown)), unknown.GetSpecifiedName())
	}
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return fmt.Errorf("the option --%s needs a value", missing.GetFlag().Name)
	}
	return err
}

// parsePriority reads a priority; jobs of higher priority go first.
func parsePriority(text string) (int32, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < math.MinInt32 || n > math.MaxInt32 {
		return 0, fmt.Errorf("give a whole number between %d and %d", math.MinInt32, math.MaxInt32)
	}
	return int32(n), nil
}

// parseKill reads the value of --kill-on-bad-exit.
func parseKill(text string) (bool, error) {
	switch text {
	case "1":
		return true, nil
	case "0":
		return false, nil
	default:
		return false, errors.New("give 0 or 1")
	}
}
