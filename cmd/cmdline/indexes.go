package cmdline

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const (
	// maxIndexes bounds the jobs of an array, since a slip such as 1-9999999 must not flood the cluster. It
	// is ten times Slurm's default.
	maxIndexes = 10_000
	// maxIndex is the largest index, Slurm's own bound.
	maxIndex = 4_000_000
)

// errIndexForm lists the forms of an array's indexes.
var errIndexForm = errors.New("write the indexes as 0-9, 1,3,7 or 0-100:10, with %4 behind them for at most 4 jobs at once")

// Array is the value of --array: the indexes of its jobs.
type Array struct {
	Indexes []uint32 // in the order given, each once
	AtOnce  int      // the most jobs that run at once; 0: any number
}

// ParseArray reads indexes as sbatch --array does: numbers, ranges and ranges with a step, with commas
// between them, and a limit behind a percent sign.
func ParseArray(text string) (Array, error) {
	list, limit, limited := strings.Cut(text, "%")
	var a Array
	if limited {
		n, err := ParseCount(limit)
		if err != nil {
			return Array{}, fmt.Errorf("%%%s: %w", limit, err)
		}
		a.AtOnce = int(n)
	}
	seen := make(map[uint32]bool)
	for part := range strings.SplitSeq(list, ",") {
		r, err := parseRange(part)
		if err != nil {
			return Array{}, err
		}
		for i := r.first; i <= r.last; i += r.step {
			switch {
			case seen[i]:
				return Array{}, fmt.Errorf("%d is named twice", i)
			case len(a.Indexes) == maxIndexes:
				return Array{}, fmt.Errorf("an array has at most %d jobs", maxIndexes)
			}
			seen[i] = true
			a.Indexes = append(a.Indexes, i)
		}
	}
	return a, nil
}

// indexRange is first, first+step, ... up to last.
type indexRange struct{ first, last, step uint32 }

func parseRange(text string) (r indexRange, err error) {
	bounds, step, stepped := strings.Cut(text, ":")
	first, last, ranged := strings.Cut(bounds, "-")
	if !ranged {
		last = first
	}
	if !stepped {
		step = "1"
	}
	for _, n := range []struct {
		text string
		to   *uint32
	}{{first, &r.first}, {last, &r.last}, {step, &r.step}} {
		value, err := strconv.ParseUint(n.text, 10, 32)
		switch {
		case errors.Is(err, strconv.ErrRange) || value > maxIndex:
			return r, fmt.Errorf("the largest index is %d", maxIndex)
		case err != nil:
			return r, errIndexForm
		}
		*n.to = uint32(value)
	}
	switch {
	case r.step == 0 || stepped && !ranged:
		return r, errIndexForm
	case r.last < r.first:
		return r, fmt.Errorf("%s ends before it begins", text)
	}
	return r, nil
}
