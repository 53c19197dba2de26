package fabric

import (
	"debug/elf"
	"score/nodeagent/pmi/mpidetect"
	"slices"
	"strings"
)

// windowCalls begin the names of functions, in C and Fortran, one of which a job calls that makes
// windows: programs that a program spawns have its settings, and may make some.
var windowCalls = []string{"mpi_win_", "pmpi_win_", "mpi_comm_spawn", "pmpi_comm_spawn"}

// loadCalls begin the names of the functions that load a library.
var loadCalls = []string{"dlopen", "dlmopen"}

// mpiLibraries begins the names of Open MPI's libraries, also those for Fortran.
const mpiLibraries = "libmpi"

// mayMakeWindows reports whether a program of Open MPI, which has these libraries, may make
// windows: it, or one of its libraries that Open MPI does not bring, calls such a function, or it
// may load a library that does. Those of the system that load some, like that of OpenMP, know
// nothing of MPI. It returns true for a file that it cannot read.
func mayMakeWindows(program string, libraries []mpidetect.Library) bool {
	if imports(program, slices.Concat(windowCalls, loadCalls)) {
		return true
	}
	brought := neededBy(openMPILibrary, libraries)
	return slices.ContainsFunc(libraries, func(l mpidetect.Library) bool {
		switch {
		case strings.HasPrefix(l.Name, mpiLibraries), brought[l.Name]:
			return false
		case l.System:
			return imports(l.Path, windowCalls)
		default:
			return imports(l.Path, slices.Concat(windowCalls, loadCalls))
		}
	})
}

// neededBy returns the names of a library and of those that it needs, directly or through others.
func neededBy(name string, libraries []mpidetect.Library) map[string]bool {
	needs := make(map[string][]string, len(libraries))
	for _, l := range libraries {
		needs[l.Name] = l.Needed
	}
	found := map[string]bool{name: true}
	for next := []string{name}; len(next) > 0; next = next[1:] {
		for _, needed := range needs[next[0]] {
			if !found[needed] {
				found[needed] = true
				next = append(next, needed)
			}
		}
	}
	return found
}

// imports reports whether a file has a symbol of another one whose name begins with one of these,
// in letters of either case.
func imports(path string, prefixes []string) bool {
	file, err := elf.Open(path)
	if err != nil {
		return true
	}
	defer func() { _ = file.Close() }() // it was only read
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return true
	}
	return slices.ContainsFunc(symbols, func(s elf.Symbol) bool {
		name := strings.ToLower(s.Name)
		return s.Section == elf.SHN_UNDEF && slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
	})
}
