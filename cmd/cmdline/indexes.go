package cmdline

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const (
	// maxIndexes bounds the jobs of an array, since a slip such as 1-9999999 must not flood the
	// cluster. It is ten times Slurm's default.
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

// ParseArray reads indexes as sbatch --array does: numbers, ranges and ranges with a step, with
// commas between them, and a limit behind a percent sign.
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
	seen := make(map[uint64]bool)
	for part := range strings.SplitSeq(list, ",") {
		first, last, step, err := parseIndexes(part)
		if err != nil {
			return Array{}, err
		}
		for i := first; i <= last; i += step {
			switch {
			case seen[i]:
				return Array{}, fmt.Errorf("%d is named twice", i)
			case len(a.Indexes) == maxIndexes:
				return Array{}, fmt.Errorf("an array has at most %d jobs", maxIndexes)
			}
			seen[i] = true
			a.Indexes = append(a.Indexes, uint32(i))
		}
	}
	return a, nil
}

// parseIndexes reads one index, a range, or a range with a step: 7, 0-9, 0-100:10.
func parseIndexes(text string) (first, last, step uint64, err error) {
	bounds, by, stepped := strings.Cut(text, ":")
	first, last, ok := ParseRange(bounds)
	switch {
	case !ok:
		return 0, 0, 0, errIndexForm
	case last > maxIndex:
		return 0, 0, 0, fmt.Errorf("the largest index is %d", maxIndex)
	case !stepped:
		return first, last, 1, nil
	}
	step, err = strconv.ParseUint(by, 10, 32)
	if err != nil || step == 0 || !strings.Contains(bounds, "-") {
		return 0, 0, 0, errIndexForm
	}
	return first, last, step, nil
}
