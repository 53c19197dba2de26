package cmdline

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// MaxNodes bounds the number of nodes in a list. No cluster has more nodes, and a slip like
// n[1-9999999999] must not fill the memory.
const MaxNodes = 65536

var errBrackets = errors.New("write it as n1,n2 or n[1-4,7]")

// ParseNodes reads a list of nodes in Slurm's notation: comma-separated names with ranges in
// brackets (n[1-4,7], n[01-16]).
func ParseNodes(text string) ([]string, error) {
	var nodes []string
	for rest := text; ; {
		item, tail, more, err := nextItem(rest)
		if err != nil {
			return nil, err
		}
		if nodes, err = expand(nodes, item); err != nil {
			return nil, err
		}
		if !more {
			return nodes, nil
		}
		rest = tail
	}
}

// nextItem splits the text at the first comma outside brackets.
func nextItem(text string) (item, tail string, more bool, err error) {
	depth := 0
	for i, c := range text {
		switch {
		case c == '[':
			depth++
		case c == ']':
			depth--
		case c == ',' && depth == 0:
			return text[:i], text[i+1:], true, nil
		}
		if depth < 0 || depth > 1 {
			return "", "", false, errBrackets
		}
	}
	if depth != 0 {
		return "", "", false, errBrackets
	}
	return text, "", false, nil
}

func expand(nodes []string, item string) ([]string, error) {
	prefix, after, bracketed := strings.Cut(item, "[")
	if !bracketed {
		if item == "" {
			return nil, errBrackets
		}
		return append(nodes, item), nil
	}
	ranges, suffix, _ := strings.Cut(after, "]")
	if strings.ContainsAny(suffix, "[]") {
		return nil, errors.New("a name has at most one pair of brackets")
	}
	var err error
	for part := range strings.SplitSeq(ranges, ",") {
		if nodes, err = expandRange(nodes, prefix, part, suffix); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

// expandRange expands a range. It keeps leading zeros: n[01-03] are n01, n02, n03.
func expandRange(nodes []string, prefix, part, suffix string) ([]string, error) {
	low, _, _ := strings.Cut(part, "-")
	first, last, ok := ParseRange(part)
	if !ok {
		return nil, errBrackets
	}
	if last-first >= MaxNodes || len(nodes)+int(last-first) >= MaxNodes {
		return nil, fmt.Errorf("a list has at most %d nodes", MaxNodes)
	}
	for n := first; n <= last; n++ {
		nodes = append(nodes, fmt.Sprintf("%s%0*d%s", prefix, len(low), n, suffix))
	}
	return nodes, nil
}

// ParseRange reads a number, or two with a hyphen between them (1-4). The last is not less than the
// first, and both are below 1<<32.
func ParseRange(text string) (first, last uint64, ok bool) {
	low, high, isRange := strings.Cut(text, "-")
	if !isRange {
		high = low
	}
	first, errLow := strconv.ParseUint(low, 10, 32)
	last, errHigh := strconv.ParseUint(high, 10, 32)
	return first, last, errLow == nil && errHigh == nil && first <= last
}

// minRange is the shortest run of nodes that FormatNodes writes as a range: n1,n2 is as short as
// n[1-2], and better to read.
const minRange = 3

// FormatNodes writes a list of nodes, in its order, so that ParseNodes reads it: n[1-4],n7.
func FormatNodes(nodes []string) string {
	var items []string
	for i := 0; i < len(nodes); {
		end := runEnd(nodes, i)
		if end-i < minRange {
			items = append(items, nodes[i])
			i++
			continue
		}
		prefix, low := splitNumber(nodes[i])
		_, high := splitNumber(nodes[end-1])
		items = append(items, prefix+"["+low+"-"+high+"]")
		i = end
	}
	return strings.Join(items, ",")
}

// runEnd returns the end of the run of nodes from i on whose numbers are consecutive and equally
// written.
func runEnd(nodes []string, i int) int {
	prefix, digits := splitNumber(nodes[i])
	first, err := strconv.ParseUint(digits, 10, 32)
	if err != nil {
		return i + 1
	}
	end := i + 1
	for end < len(nodes) && nodes[end] == fmt.Sprintf("%s%0*d", prefix, len(digits), first+uint64(end-i)) {
		end++
	}
	return end
}

// splitNumber splits a name before the digits at its end.
func splitNumber(name string) (prefix, digits string) {
	prefix = strings.TrimRight(name, "0123456789")
	return prefix, name[len(prefix):]
}
