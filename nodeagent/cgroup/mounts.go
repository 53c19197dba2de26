package cgroup

import (
	"bufio"
	"io"
	"os"
	"slices"
	"strings"
)

// mounts holds the paths of this host's hierarchies; an empty string means none.
type mounts struct {
	v2       string // the version 2 tree
	v1Memory string // the version 1 hierarchy that holds the memory controller
	v1Pids   string // the version 1 hierarchy that holds the pids controller
}

func findMounts() (mounts, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return mounts{}, err
	}
	defer f.Close()
	return parseMounts(f)
}

// parseMounts reads proc(5)'s mountinfo. A line is
//
//	36 35 98:0 /root /mount/point options [tags ...] - type source superoptions
//
// The first v2 mount counts: later ones are views of the same tree, made for containers.
func parseMounts(r io.Reader) (mounts, error) {
	var m mounts
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		before, after, ok := strings.Cut(lines.Text(), " - ")
		if !ok {
			continue
		}
		place, kind := strings.Fields(before), strings.Fields(after)
		if len(place) < 5 || len(kind) < 3 {
			continue
		}
		at := unescape(place[4])
		switch kind[0] {
		case "cgroup2":
			if m.v2 == "" {
				m.v2 = at
			}
		case "cgroup":
			controllers := strings.Split(kind[2], ",")
			if m.v1Memory == "" && slices.Contains(controllers, "memory") {
				m.v1Memory = at
			}
			if m.v1Pids == "" && slices.Contains(controllers, "pids") {
				m.v1Pids = at
			}
		}
	}
	return m, lines.Err()
}

// unescape replaces mountinfo's octal escapes, such as \040 for a space.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}
