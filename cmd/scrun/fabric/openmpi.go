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

// firstOfOpenMPI5 is the second number of the library's file in Open MPI 5.0: libmpi.so.40.40.x.
// 4.1 has 30.
const firstOfOpenMPI5 = 40

// inspectOpenMPI fills in what the layers of Open MPI depend on. For an interpreter they depend on
// the Open MPI of this host, since it is unknown which programs it starts.
func (p *Program) inspectOpenMPI(program, libraryPath string) {
	switch p.Kind {
	case OpenMPI:
		libraries, _ := mpidetect.Libraries(program, libraryPath) // if some are missing, the loader will say
		of := slices.IndexFunc(libraries, func(l mpidetect.Library) bool { return l.Name == openMPILibrary })
		p.OpenMPI5 = of >= 0 && isOpenMPI5(libraries[of].Path)
		p.NoWindows = p.OpenMPI5 && !mayMakeWindows(program, libraries)
	case Interpreter:
		p.OpenMPI5 = isOpenMPI5(mpidetect.Find(openMPILibrary, libraryPath))
	case Unknown, MPICH, EmbeddedMPICH, ClosedMPICH, OpenSHMEM, Libfabric, GASNet, Newer, OtherMPI, Static, Launcher:
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
