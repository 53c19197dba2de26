package fabric

import (
	"debug/elf"
	"strconv"
	"strings"
)

// A program or library that was linked with a newer libfabric names versions of its functions that
// the channels' libfabric.so.1 does not have, and the loader refuses to start it with that one.
const (
	// versionMark begins the names of libfabric's versions.
	versionMark = "FABRIC_1."
	// newestVersion is the last that pm/lib/shim/libfabric.map has.
	newestVersion = 9
)

// needsNewer reports whether the file needs a newer libfabric than that of the channels. A file that
// cannot be read needs none: the loader will say what is wrong.
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
