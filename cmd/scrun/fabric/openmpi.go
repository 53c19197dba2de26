package fabric

import (
	"path/filepath"
	"score/nodeagent/pmi/mpidetect"
	"slices"
	"strconv"
	"strings"
)

// openMPILibrary is the name of Open MPI's library, in 4 and in 5.
const openMPILibrary = "libmpi.so.40"

// firstOfOpenMPI5 is the second number of the library's file in Open MPI 5.0: libmpi.so.40.40.x. 4.1
// has 30.
const firstOfOpenMPI5 = 40

// usesOpenMPI5 reports whether a program has the library of Open MPI 5 or later; an interpreter: whether
// this host has, since it is unknown which programs it starts.
func usesOpenMPI5(program string, kind Kind, libraryPath string) bool {
	switch kind {
	case OpenMPI:
		libraries, _ := mpidetect.Libraries(program, libraryPath) // if some are missing, the loader will say
		of := slices.IndexFunc(libraries, func(l mpidetect.Library) bool { return l.Name == openMPILibrary })
		return of >= 0 && isOpenMPI5(libraries[of].Path)
	case Interpreter:
		return isOpenMPI5(mpidetect.Find(openMPILibrary, libraryPath))
	default:
		return false
	}
}

func isOpenMPI5(path string) bool {
	file, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	version, _ := strings.CutPrefix(filepath.Base(file), openMPILibrary+".")
	second, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(second)
	return err == nil && n >= firstOfOpenMPI5
}
