package main

import (
	"fmt"
	"strings"
)

// lastStandard is the number of standard error: ranks have that one and those below it.
const lastStandard = 2

// descriptorHint warns of an argument that names a file which is open in scrun alone, as a shell
// makes of <(command), and says what to write. It returns "" if there is none.
func descriptorHint(argv []string) string {
	for _, argument := range argv {
		if namesDescriptor(argument) {
			return fmt.Sprintf(
				"%s is open here, as the shell's <(command), but not in the ranks: use a pipe ('command | scrun ...'), a file, or bash -c '...' as the program",
				argument)
		}
	}
	return ""
}

// namesDescriptor reports whether path names an open file of the process that opens it, beyond the
// standard ones.
func namesDescriptor(path string) bool {
	for _, directory := range []string{"/dev/fd/", "/proc/self/fd/"} {
		name, found := strings.CutPrefix(path, directory)
		if !found || strings.Trim(name, "0123456789") != "" {
			continue
		}
		return len(name) > 1 || len(name) == 1 && name[0] > '0'+lastStandard
	}
	return false
}
