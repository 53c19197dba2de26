package fabric

import (
	"path/filepath"
	"score/nodeagent/launch"
	"score/nodeagent/pmi/mpidetect"
	"strings"
)

// Kind is what a program can use.
type Kind uint8

const (
	// Unknown: a script, a program that may start another, or one that is not on this host.
	Unknown Kind = iota
	// OpenMPI loads libfabric by itself.
	OpenMPI
	// Libfabric: the program, or its MPI library, was linked with libfabric.
	Libfabric
	// OtherMPI has an MPI library that does not use libfabric, as Debian's MPICH.
	OtherMPI
	// Static: it loads no libraries.
	Static
)

// Program is one that a job starts.
type Program struct {
	Name string
	Kind Kind
}

// maxLooked bounds the arguments that are looked at: wrappers (env, timeout, numactl, a script) name
// their program among the first.
const maxLooked = 16

// Inspect finds out what a command line starts: the first program in it that is known to use
// libfabric, else the program itself. dir, path and libraryPath are its directory, PATH and
// LD_LIBRARY_PATH.
func Inspect(argv []string, dir, path, libraryPath string) Program {
	if path == "" {
		path = launch.DefaultPath
	}
	first := Program{Name: filepath.Base(argv[0])}
	for i, word := range argv[:min(len(argv), maxLooked)] {
		if i > 0 && !strings.Contains(word, "/") {
			continue // an option, a number; a search for each would take long
		}
		found, err := launch.Resolve(word, dir, path, nil)
		if err != nil {
			continue
		}
		p := Program{filepath.Base(found), kindOf(found, libraryPath)}
		if p.Kind == OpenMPI || p.Kind == Libfabric {
			return p
		}
		if i == 0 {
			first = p
		}
	}
	return first
}

func kindOf(program, libraryPath string) Kind {
	report, err := mpidetect.Follow(program, libraryPath)
	switch {
	case err != nil || !report.ELF:
		return Unknown
	case report.Family == mpidetect.OpenMPI:
		return OpenMPI
	case report.Family == mpidetect.StaticUnknown:
		return Static
	case needsLibfabric(program, libraryPath):
		return Libfabric
	case report.Family.Parallel():
		return OtherMPI
	}
	return Unknown
}

func needsLibfabric(program, libraryPath string) bool {
	libraries, err := mpidetect.Libraries(program, libraryPath)
	if err != nil {
		return false // the loader will say
	}
	for _, l := range libraries {
		if strings.HasPrefix(l.Name, library) {
			return true
		}
	}
	return false
}

// refusal says why the program cannot use channels; empty: it may.
func (p Program) refusal() string {
	switch p.Kind {
	case OtherMPI:
		return p.Name + " was built with an MPI library that does not use libfabric (Debian's MPICH uses UCX); Open MPI does"
	case Static:
		return p.Name + " is static, so it cannot load the library of the channels"
	case Unknown, OpenMPI, Libfabric:
	}
	return ""
}

func (p Program) describe() string {
	switch p.Kind {
	case OpenMPI:
		return p.Name + " was built with Open MPI"
	case Libfabric:
		return p.Name + " uses libfabric"
	case OtherMPI:
		return p.Name + " was built with an MPI library that does not use libfabric"
	case Static:
		return p.Name + " is static"
	case Unknown:
	}
	return "of " + p.Name + " it is not known whether it starts a program that uses libfabric"
}
