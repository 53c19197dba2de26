package cmdline

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	// maxCount bounds ranks, nodes and CPUs. No cluster is as large, and the messages have 32 bits.
	maxCount = 1 << 24

	// maxTime is the longest time limit: the nanoseconds of a century still fit in 64 bits.
	maxTime = 100 * 365 * 24 * time.Hour

	// maxBytes is the largest memory: one exbibyte, so that products with the
	// number of nodes cannot overflow.
	maxBytes = 1 << 60
)

// errTimeForm lists the forms that srun takes for a time.
var errTimeForm = errors.New("write it as minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes or days-hours:minutes:seconds")

// errSpanForm describes the form of ParseSpan.
var errSpanForm = errors.New("write a time with its unit, as in 90m, 12h or 2d")

// ParseCount reads a number of something, at least one.
func ParseCount(text string) (uint32, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return 0, errors.New("give a whole number")
	case n > maxCount:
		return 0, fmt.Errorf("the maximum is %d", maxCount)
	case n < 1:
		return 0, errors.New("it must be at least 1")
	}
	return uint32(n), nil
}

// ParseTime reads a time limit in the forms that Slurm documents for srun
// --time. Zero, "infinite" and "unlimited" mean no limit, which is 0.
func ParseTime(text string) (time.Duration, error) {
	lower := strings.ToLower(text)
	if lower == "infinite" || lower == "unlimited" {
		return 0, nil
	}
	if strings.HasPrefix(text, "-") {
		return 0, errors.New("it must not be negative")
	}
	days, clock, withDays := strings.Cut(text, "-")
	if !withDays {
		days, clock = "0", text
	}
	units := clockUnits(withDays)
	parts := strings.Split(clock, ":")
	if len(parts) > 3 {
		return 0, errTimeForm
	}
	total, err := addUnits(0, days, 24*time.Hour)
	for i := 0; i < len(parts) && err == nil; i++ {
		total, err = addUnits(total, parts[i], units[len(parts)-1][i])
	}
	return total, err
}

// clockUnits returns the units of the parts between colons, by the number of parts less one.
// Without days a single part means minutes; with days it means hours.
func clockUnits(withDays bool) [3][]time.Duration {
	if withDays {
		return [3][]time.Duration{
			{time.Hour}, {time.Hour, time.Minute}, {time.Hour, time.Minute, time.Second},
		}
	}
	return [3][]time.Duration{
		{time.Minute}, {time.Minute, time.Second}, {time.Hour, time.Minute, time.Second},
	}
}

func addUnits(total time.Duration, digits string, unit time.Duration) (time.Duration, error) {
	n, err := strconv.ParseUint(digits, 10, 63)
	if errors.Is(err, strconv.ErrRange) {
		return 0, errors.New("it is too long; omit the option for no limit")
	}
	if err != nil {
		return 0, errTimeForm
	}
	if n > uint64((maxTime-total)/unit) {
		return 0, errors.New("it is too long; omit the option for no limit")
	}
	return total + time.Duration(n)*unit, nil
}

// ParseBytes reads an amount of memory: a whole number with the suffix K, M, G
// or T (powers of 1024), megabytes without one, as srun --mem does.
func ParseBytes(text string) (uint64, error) {
	digits := strings.TrimRight(text, "KkMmGgTtBb")
	shift, ok := byteSuffixes[strings.ToLower(text[len(digits):])]
	n, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case !ok || err != nil && !errors.Is(err, strconv.ErrRange):
		return 0, errors.New("write a whole number with K, M, G or T after it (M without one)")
	case n > maxBytes>>shift:
		return 0, errors.New("no machine has that much memory")
	case n < 1:
		return 0, errors.New("it must be at least 1K")
	}
	return uint64(n) << shift, nil
}

// byteSuffixes are powers of two, by their exponent.
var byteSuffixes = map[string]uint{
	"": 20, "k": 10, "kb": 10, "m": 20, "mb": 20, "g": 30, "gb": 30, "t": 40, "tb": 40,
}

// ParseSpan reads a time with its units, as time.ParseDuration does, and days: "90m", "7d",
// "1d12h". It must not be negative.
func ParseSpan(text string) (time.Duration, error) {
	days, rest, withDays := strings.Cut(text, "d")
	if !withDays {
		days, rest = "0", text
	}
	total, err := addUnits(0, days, 24*time.Hour)
	if err != nil {
		return 0, errSpanForm
	}
	if withDays && rest == "" {
		return total, nil
	}
	part, err := time.ParseDuration(rest)
	if err != nil || part < 0 || part > maxTime {
		return 0, errSpanForm
	}
	return total + part, nil
}
