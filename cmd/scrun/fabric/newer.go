package fabric

import (
	"debug/elf"
	"strconv"
	"strings"
)

// A program or library that was linked with a newer libfabric names versions of its functions that
// the channels' libfabric.so.1 does not have. The loader refuses to start it with that library.
const (
	// versionMark begins the names of libfabric's versions.
	versionMark = "FABRIC_1."
	// newestVersion is the newest version in pm/lib/shim/libfabric.map.
	newestVersion = 9
)

// needsNewer reports whether the file needs a newer libfabric than that of the channels. It returns
// false for a file that it cannot read: the loader reports the error.
func needsNewer(path string) bool {
	file, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }() // it was only read
	needs, err := file.DynamicVersionNeeds()
	if err != nil {
		return false
	}
	for _, need := range needs {
		for _, version := range need.Needs {
			text, found := strings.CutPrefix(version.Dep, versionMark)
			if number, err := strconv.Atoi(text); found && err == nil && number > newestVersion && isLibfabric(need.Name) {
				return true
			}
		}
	}
	return false
}
