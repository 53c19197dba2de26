package mpidetect

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Library is a library that a program needs, directly or through another library.
type Library struct {
	// Name is the name by which the loader searches for it, Path its path on this host.
	Name, Path string
	// System means that it is in a directory of the system's own libraries.
	System bool
	// Base means that it is a part of the C library, which works only with the loader that it came
	// with.
	Base bool
	// Needed are the names of the libraries that it needs itself.
	Needed []string
}

// maxLibraries bounds the libraries of a program.
const maxLibraries = 512

// ErrLibrary means that this host lacks a library that the program needs, or that there are too
// many.
var ErrLibrary = errors.New("the program's libraries cannot be determined")

// baseLibraries lists the prefixes of the names of the C library's parts.
var baseLibraries = []string{
	"ld-linux", "ld-musl", "ld64.so", "libc.so", "libm.so", "libmvec.so", "libpthread.so", "libdl.so", "librt.so",
	"libresolv.so", "libutil.so", "libnsl.so", "libnss_", "libanl.so", "libBrokenLocale.so", "libthread_db.so", "linux-vdso",
}

// loaderConfig names further directories in which the dynamic loader looks; see ld.so(8),
// ldconfig(8).
const loaderConfig = "/etc/ld.so.conf"

// Find returns the path of a library in LD_LIBRARY_PATH or in the system's directories; "": there
// is none.
func Find(name, libraryPath string) string {
	dirs := append(directories([]string{libraryPath}, ""), systemDirs...)
	for _, dir := range append(dirs, loaderDirs(loaderConfig, 0)...) {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// Libraries returns all libraries that a program needs, the nearest first; none for a script or a
// static program. libraryPath is the program's LD_LIBRARY_PATH.
func Libraries(path, libraryPath string) ([]Library, error) {
	report, err := Inspect(path)
	if err != nil || !report.ELF {
		return nil, err
	}
	var all []Library
	system := append(slices.Clone(systemDirs), loaderDirs(loaderConfig, 0)...)
	seen := make(map[string]bool)
	for next := []layer{newLayer(path, report, nil)}; len(next) > 0; next = next[1:] {
		dirs := append(next[0].searchDirs(libraryPath), system...)
		for _, name := range next[0].Needed {
			if seen[name] {
				continue
			}
			seen[name] = true
			if len(all) == maxLibraries {
				return nil, fmt.Errorf("%w: %s needs more than %d", ErrLibrary, path, maxLibraries)
			}
			found, library, err := locate(name, dirs, &report)
			if err != nil {
				return nil, fmt.Errorf("%w: %s needs %s, which is not on this host", ErrLibrary, next[0].path, name)
			}
			all = append(all, Library{Name: name, Path: found, System: inSystem(found), Base: isBase(name), Needed: library.Needed})
			next = append(next, newLayer(found, library, next[0].rpath))
		}
	}
	return all, nil
}

// inSystem reports whether a library is where a distribution's packages put theirs.
func inSystem(path string) bool {
	for _, dir := range []string{"/lib/", "/lib32/", "/lib64/", "/usr/lib/", "/usr/lib32/", "/usr/lib64/"} {
		if strings.HasPrefix(filepath.Clean(path), dir) {
			return true
		}
	}
	return false
}

func isBase(name string) bool {
	return slices.ContainsFunc(baseLibraries, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// maxConfigDepth bounds files that include each other.
const maxConfigDepth = 8

// loaderDirs returns the directories in the dynamic loader's configuration. It skips files that it
// cannot read.
func loaderDirs(path string, depth int) []string {
	data, err := os.ReadFile(path)
	if err != nil || depth == maxConfigDepth {
		return nil
	}
	var dirs []string
	for line := range strings.SplitSeq(string(data), "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		switch {
		case len(words) > 1 && words[0] == "include":
			dirs = append(dirs, includedDirs(path, words[1:], depth+1)...)
		case len(words) == 1 && filepath.IsAbs(words[0]):
			dirs = append(dirs, words[0])
		}
	}
	return dirs
}

// includedDirs returns the directories in the files that an include line of the file at path names.
func includedDirs(path string, patterns []string, depth int) (dirs []string) {
	for _, pattern := range patterns {
		if !filepath.IsAbs(pattern) {
			pattern = filepath.Join(filepath.Dir(path), pattern)
		}
		files, _ := filepath.Glob(pattern) // a malformed pattern matches nothing
		for _, file := range files {
			dirs = append(dirs, loaderDirs(file, depth)...)
		}
	}
	return dirs
}
