package cgroup

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	rootPrefix = "score."
	slotPrefix = "s-"

	// maxNameLen bounds a name, so that "score.<cluster>.<node>" stays below NAME_MAX (255).
	maxNameLen = 100
	// MaxSlot bounds the slots of a node: far above the stewards that a node can run, and low
	// enough that a wrong number is noticed.
	MaxSlot = 1 << 16
)

// rootName checks both names and joins them. A cluster's name has no dot, so
// that no two (cluster, node) pairs share a group.
func rootName(cluster, node string) (string, error) {
	if err := checkName("cluster", cluster, "-_"); err != nil {
		return "", err
	}
	if err := checkName("node", node, "-_."); err != nil {
		return "", err
	}
	return rootPrefix + cluster + "." + node, nil
}

// checkName refuses a name with others than ASCII letters, digits and, after its first letter,
// marks.
func checkName(what, name, marks string) error {
	if name == "" || len(name) > maxNameLen {
		return fmt.Errorf("%w: a %s's name has 1 to %d characters, %q has %d",
			ErrName, what, maxNameLen, name, len(name))
	}
	for i, c := range []byte(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case i > 0 && strings.IndexByte(marks, c) >= 0:
		default:
			return fmt.Errorf("%w: the %s's name %q may not have %q at place %d",
				ErrName, what, name, c, i+1)
		}
	}
	return nil
}

func slotName(n int) (string, error) {
	if n < 0 || n > MaxSlot {
		return "", fmt.Errorf("%w: a slot is 0 to %d, not %d", ErrName, MaxSlot, n)
	}
	return slotPrefix + strconv.Itoa(n), nil
}

// slotOf returns the number of a slot by the name of its group; ok is false for any other name.
func slotOf(name string) (n int, ok bool) {
	digits, ok := strings.CutPrefix(name, slotPrefix)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || n > MaxSlot || strconv.Itoa(n) != digits {
		return 0, false
	}
	return n, true
}
