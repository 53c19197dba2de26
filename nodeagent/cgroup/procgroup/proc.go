package procgroup

import (
	"fmt"
	"os"
	"score/channels/procstat"
	"strconv"
)

// stopped reports whether the process cannot run: stopped by a signal or over.
func stopped(s procstat.Stat) bool { return s.State == 'T' || s.State == 't' || s.Exited() }

// table returns all processes of the host by id.
func table() (map[int]procstat.Stat, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	all := make(map[int]procstat.Stat, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if s, err := procstat.Read(pid); err == nil {
			all[pid] = s
		}
	}
	return all, nil
}

// descendants returns the living processes below root, and those in one of the process groups,
// without root itself.
func descendants(all map[int]procstat.Stat, root int, groups map[int]bool) []process {
	mine := make(map[int]bool)
	var below func(pid int) bool
	below = func(pid int) bool {
		if pid == root {
			return true
		}
		if known, seen := mine[pid]; seen {
			return known
		}
		mine[pid] = false // ends a circle that a changing table could show
		s, ok := all[pid]
		mine[pid] = ok && (groups[s.Group] || s.Parent > 0 && below(s.Parent))
		return mine[pid]
	}
	var found []process
	for pid, s := range all {
		if pid != root && !s.Exited() && below(pid) {
			found = append(found, process{pid, s.Start})
		}
	}
	return found
}
