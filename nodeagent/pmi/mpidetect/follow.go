package mpidetect

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// maxFollowed bounds the inspected libraries: an MPI is in the first or second layer, and programs
// of hundreds of libraries do not name it last.
const maxFollowed = 128

// systemDirs lists the directories in which the dynamic loaders of common systems look last.
var systemDirs = []string{
	"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
	"/usr/local/lib", "/lib64", "/usr/lib64", "/lib", "/usr/lib",
}

// Follow is like Inspect, but also inspects the program's libraries and theirs: an MPI may come in
// only through another library, though not through the C library. The nearest library determines
// the family. libraryPath is the program's LD_LIBRARY_PATH. A library that is missing or damaged is
// skipped: the loader will report it.
func Follow(path, libraryPath string) (Report, error) {
	report, err := Inspect(path)
	if err != nil || !report.ELF || report.Family != None {
		return report, err
	}
	found := report
	walk(path, libraryPath, report, func(_ string, library Report) (done bool) {
		if library.Family.Parallel() { // a library without others looks static
			found.Family = library.Family
		}
		return found.Family != None
	})
	return found, nil
}

// hwloc2 is hwloc 2, which reads descriptions of hardware that any other hwloc 2 has written.
const hwloc2 = "libhwloc.so.15"

// UsesHwloc reports whether the program's MPI, or a part of that, looks at the hardware by hwloc 2.
func UsesHwloc(path, libraryPath string) (uses bool) {
	report, err := Inspect(path)
	if err != nil || !report.ELF {
		return false
	}
	walk(path, libraryPath, report, func(name string, library Report) (done bool) {
		uses = libraryFamily(name).Parallel() && slices.Contains(library.Needed, hwloc2)
		return uses
	})
	return uses
}

// walk visits the libraries of a program, the nearest first, until visit returns true.
func walk(path, libraryPath string, program Report, visit func(name string, library Report) (done bool)) {
	seen := make(map[string]bool)
	for next := []layer{newLayer(path, program, nil)}; len(next) > 0; next = next[1:] {
		dirs := append(next[0].searchDirs(libraryPath), systemDirs...)
		for _, name := range next[0].Needed {
			if seen[name] || isBase(name) || len(seen) == maxFollowed {
				continue
			}
			seen[name] = true
			found, library, err := locate(name, dirs, &program)
			if err != nil {
				continue
			}
			if visit(name, library) {
				return
			}
			next = append(next, newLayer(found, library, next[0].rpath))
		}
	}
}

// layer is a file with the search path for its libraries.
type layer struct {
	path string
	Report
	// rpath holds the directories of DT_RPATH: the file's own, then those of the files that load
	// it.
	rpath []string
}

// newLayer returns the layer of a file. loader holds the DT_RPATH directories of the file that
// loads it. DT_RUNPATH overrides the file's own DT_RPATH.
func newLayer(path string, report Report, loader []string) layer {
	l := layer{path: path, Report: report}
	if len(report.runpath) == 0 {
		l.rpath = directories(report.rpath, path)
	}
	l.rpath = append(l.rpath, loader...)
	return l
}

// searchDirs returns the directories in which the loader looks for the file's libraries before the
// system's, in order; see ld.so(8). DT_RPATH comes first, unless the file has a DT_RUNPATH, which
// applies to the file's own libraries only.
func (l *layer) searchDirs(libraryPath string) (dirs []string) {
	if len(l.runpath) == 0 {
		dirs = append(dirs, l.rpath...)
	}
	dirs = append(dirs, directories([]string{libraryPath}, l.path)...)
	return append(dirs, directories(l.runpath, l.path)...)
}

// directories splits the search paths of the file at path. LD_LIBRARY_PATH may also have
// semicolons.
func directories(paths []string, path string) (dirs []string) {
	origin := filepath.Dir(path)
	for _, list := range paths {
		for _, dir := range strings.FieldsFunc(list, func(r rune) bool { return r == ':' || r == ';' }) {
			dir = strings.NewReplacer("$ORIGIN", origin, "${ORIGIN}", origin).Replace(dir)
			if filepath.IsAbs(dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

var errNotFound = errors.New("no such library")

// locate finds a library that fits the program's machine.
func locate(name string, dirs []string, program *Report) (string, Report, error) {
	if strings.Contains(name, "/") {
		library, err := Inspect(name)
		return name, library, err
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		library, err := Inspect(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return "", Report{}, err
		case library.ELF && library.Machine == program.Machine && library.Class == program.Class:
			return path, library, nil
		}
	}
	return "", Report{}, errNotFound
}
