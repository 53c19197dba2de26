package mpidetect

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
)

// maxFollowed bounds the libraries that are inspected: an MPI comes with the first or second layer,
// and programs of hundreds of libraries do not name it last.
const maxFollowed = 128

// systemDirs are where the dynamic loaders of common systems look last; the
// loader's own cache of them has the same content in another form.
var systemDirs = []string{
	"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
	"/usr/local/lib", "/lib64", "/usr/lib64", "/lib", "/usr/lib",
}

// Follow is Inspect that also inspects the libraries of the program and theirs: an MPI may come in
// only by way of another library. The nearest library determines the family. libraryPath is the
// program's LD_LIBRARY_PATH. A library that is not found, or is damaged, is skipped: the loader
// will report it.
func Follow(path, libraryPath string) (Report, error) {
	report, err := Inspect(path)
	if err != nil || !report.ELF || report.Family != None {
		return report, err
	}
	type layer struct {
		path string
		Report
	}
	seen := make(map[string]bool)
	next := []layer{{path, report}}
	for len(next) > 0 {
		program := next[0]
		next = next[1:]
		dirs := searchDirs(program.path, program.paths, libraryPath)
		for _, name := range program.Needed {
			if seen[name] || len(seen) == maxFollowed {
				continue
			}
			seen[name] = true
			found, library, err := locate(name, dirs, &report)
			if err != nil {
				continue
			}
			if library.Family.Parallel() { // a library without others looks static
				report.Family = library.Family
				return report, nil
			}
			next = append(next, layer{found, library})
		}
	}
	return report, nil
}

// searchDirs are the directories in which the loader looks for the libraries of a
// file, in order.
func searchDirs(path string, paths []string, libraryPath string) []string {
	var dirs []string
	origin := filepath.Dir(path)
	for _, list := range append(append([]string{}, paths...), libraryPath) {
		for dir := range strings.SplitSeq(list, ":") {
			dir = strings.NewReplacer("$ORIGIN", origin, "${ORIGIN}", origin).Replace(dir)
			if filepath.IsAbs(dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	return append(dirs, systemDirs...)
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
