package fabric

import (
	"path/filepath"
	"score/nodeagent/launch"
	"score/nodeagent/pmi/mpidetect"
	"slices"
	"strings"
)

// Kind is the communication that a program can use.
type Kind uint8

const (
	// Unknown: a program without a known message-passing library, or one that is not on this host.
	Unknown Kind = iota
	// Interpreter: a script, a shell, Python or another that may start or load any program.
	Interpreter
	// OpenMPI loads libfabric by itself.
	OpenMPI
	// MPICH, or a library derived from it, that was linked with libfabric.
	MPICH
	// EmbeddedMPICH is MPICH with a libfabric inside its library, which loads providers.
	EmbeddedMPICH
	// ClosedMPICH is MPICH with a libfabric inside its library, which loads none.
	ClosedMPICH
	// OpenSHMEM has Sandia's library, which uses libfabric.
	OpenSHMEM
	// Libfabric: the program was linked with libfabric, itself or by another library.
	Libfabric
	// GASNet uses libfabric with the provider pm alone: it was configured for that.
	GASNet
	// Newer: the program was linked with a libfabric that is newer than the one of the channels.
	Newer
	// OtherMPI has an MPI library that does not use libfabric, like Debian's MPICH.
	OtherMPI
	// Static: it loads no libraries.
	Static
	// Launcher starts programs itself, like mpirun: they are not ranks of the job.
	Launcher
)

// alone reports whether such programs have no other network than that of libfabric.
func (k Kind) alone() bool { return k == GASNet || k == OpenSHMEM }

// chosenByAuto reports whether Auto selects channels for such programs, where channels are faster.
func (k Kind) chosenByAuto() bool {
	return k == OpenMPI || k == Interpreter || k.alone()
}

// usesLibfabric reports whether such programs use libfabric, so that other programs of the command
// line need not be examined.
func (k Kind) usesLibfabric() bool {
	switch k {
	case OpenMPI, MPICH, EmbeddedMPICH, OpenSHMEM, Libfabric, GASNet, Newer:
		return true
	case Unknown, Interpreter, ClosedMPICH, OtherMPI, Static, Launcher:
	}
	return false
}

// Program is a program that a job starts.
type Program struct {
	Name string
	Kind Kind
	// OpenMPI5: its Open MPI is of version 5 or later, or that of this host, if it is an
	// interpreter.
	OpenMPI5 bool
	// NoWindows: it has Open MPI 5, and cannot make windows.
	NoWindows bool
	// Container is the program that starts it in a container, which may have other files than this
	// host; empty: none.
	Container string
}

// interpreters are those of scripts and of languages with MPI bindings, like mpi4py. They are
// compared with a program's name up to its first digit.
var interpreters = []string{"sh", "bash", "dash", "zsh", "ksh", "csh", "tcsh", "python", "perl", "ruby", "julia", "R", "Rscript", "octave", "lua"}

// wrappers are programs that start another program, which is named in their arguments and found by
// PATH. Arguments of other programs are examined only if they are paths: a search for each word
// would take long.
var wrappers = []string{
	"busybox", "catchsegv", "chrt", "env", "gdb", "ionice", "ltrace", "micromamba", "nice", "nohup", "numactl", "perf",
	"pixi", "prlimit", "setsid", "stdbuf", "strace", "taskset", "time", "timeout", "uv", "valgrind", "xvfb-run",
}

// containers are programs that start others where their files may not be those of this host.
var containers = []string{
	"apptainer", "bwrap", "ch-run", "chroot", "docker", "enroot", "nerdctl", "podman", "proot", "sarus", "shifter",
	"singularity", "systemd-nspawn",
}

// launchers are programs that start the ranks of a job of their own. They are compared with a
// program's name up to its first dot, because of names like mpirun.openmpi.
var launchers = []string{"mpirun", "mpiexec", "orterun", "oshrun", "prterun", "prun", "srun"}

// MaxExamined bounds the arguments of a command line that are examined: wrappers (env, timeout,
// numactl, a script) have their program among the first.
const MaxExamined = 16

// Inspect finds out which program a command line starts: the first that is known to use libfabric
// or to start programs itself, otherwise an interpreter that a wrapper starts, otherwise argv[0].
// dir, path and libraryPath are the working directory, PATH and LD_LIBRARY_PATH.
func Inspect(argv []string, dir, path, libraryPath string) Program {
	if path == "" {
		path = launch.DefaultPath
	}
	started := Program{Name: filepath.Base(argv[0])}
	wrapped := slices.Contains(wrappers, started.Name)
	container := ""
	for i, word := range argv[:min(len(argv), MaxExamined)] {
		program := i == 0 || strings.Contains(word, "/") || wrapped && isName(word)
		if !program {
			continue
		}
		if name := filepath.Base(word); container == "" && slices.Contains(containers, name) {
			container = name
		}
		found, err := launch.Resolve(word, dir, path, nil)
		if err != nil {
			continue
		}
		p := Program{Name: filepath.Base(found), Kind: kindOf(found, libraryPath), Container: container}
		p.inspectOpenMPI(found, libraryPath)
		if p.Kind == Static && (slices.Contains(wrappers, p.Name) || p.Name == container) {
			p.Kind = Unknown // what it starts may load libraries
		}
		if p.Kind == Launcher || p.Kind.usesLibfabric() {
			return p
		}
		if i == 0 || wrapped && started.Kind == Unknown && p.Kind == Interpreter {
			started = p
		}
	}
	return started
}

// isName reports whether a wrapper's argument can be a program's name, so that it is not an option,
// number or variable.
func isName(word string) bool {
	return word != "" && strings.IndexByte("-0123456789", word[0]) < 0 && !strings.Contains(word, "=")
}

func kindOf(program, libraryPath string) Kind {
	if launches(program) {
		return Launcher
	}
	report, err := mpidetect.Follow(program, libraryPath)
	switch {
	case err != nil:
		return Unknown
	case !report.ELF:
		return Interpreter
	case report.Family == mpidetect.StaticUnknown:
		return Static
	case slices.ContainsFunc(report.Needed, isLibfabric) && needsNewer(program):
		return Newer
	case slices.ContainsFunc(report.Needed, isLibfabric):
		// What it does with libfabric is not Open MPI's, although Open MPI may start it.
		return libfabricKind(program)
	case report.Family == mpidetect.OpenMPI:
		return OpenMPI
	}
	libraries, err := mpidetect.Libraries(program, libraryPath)
	if err != nil {
		libraries = nil // the loader will say
	}
	uses := func(is func(string) bool) bool {
		return slices.ContainsFunc(libraries, func(l mpidetect.Library) bool { return is(l.Name) })
	}
	switch {
	case uses(isLibfabric) && slices.ContainsFunc(libraries, func(l mpidetect.Library) bool { return needsNewer(l.Path) }):
		return Newer
	case uses(isLibfabric) && uses(isOpenSHMEM):
		return OpenSHMEM
	case uses(isLibfabric) && report.Family == mpidetect.MPICH:
		return MPICH
	case uses(isLibfabric):
		return libfabricKind(program)
	case report.Family == mpidetect.MPICH && uses(isUCX):
		return OtherMPI
	case report.Family == mpidetect.MPICH:
		return mpichKind(libraries)
	case interprets(program):
		return Interpreter
	}
	return Unknown
}

func isLibfabric(name string) bool { return strings.HasPrefix(name, library) }

// isUCX reports whether the library is UCX, the network of Debian's MPICH. With UCX, MPICH's
// library of 41 MB need not be searched for a libfabric.
func isUCX(name string) bool { return strings.HasPrefix(name, "libucp.so") }

// isOpenSHMEM reports whether the library is Sandia OpenSHMEM.
func isOpenSHMEM(name string) bool { return strings.HasPrefix(name, "libsma.so") }

func libfabricKind(program string) Kind {
	if onlyPM(program) {
		return GASNet
	}
	return Libfabric
}

func interprets(program string) bool {
	name := filepath.Base(program)
	if digit := strings.IndexAny(name, "0123456789"); digit > 0 {
		name = name[:digit]
	}
	return slices.Contains(interpreters, name)
}

func launches(program string) bool {
	name, _, _ := strings.Cut(filepath.Base(program), ".")
	return slices.Contains(launchers, name)
}

// refusal returns why the program cannot use channels, "" if it may.
func (p Program) refusal() string {
	switch p.Kind {
	case OtherMPI:
		return p.Name + " was built with an MPI library that does not use libfabric (Debian's MPICH uses UCX); Open MPI does"
	case ClosedMPICH:
		return p.Name + " was built with MPICH that has a libfabric inside which loads no providers (--without-dlopen); configure MPICH --with-libfabric=DIR"
	case Static:
		return p.Name + " is static, so it cannot load the library of the channels"
	case Launcher:
		return p.describe() + "; start the program by scrun alone"
	case Newer:
		return p.describe() + "; build it, or its MPI library, with libfabric 2.6 or an older one"
	case Unknown, Interpreter, OpenMPI, MPICH, EmbeddedMPICH, OpenSHMEM, Libfabric, GASNet:
	}
	return ""
}

func (p Program) describe() string {
	switch p.Kind {
	case OpenMPI:
		return p.Name + " was built with Open MPI"
	case OpenSHMEM:
		return p.Name + " was built with Sandia OpenSHMEM"
	case MPICH:
		return p.Name + " was built with MPICH over libfabric"
	case EmbeddedMPICH:
		return p.Name + " was built with MPICH that has a libfabric inside, which loads providers from FI_PROVIDER_PATH"
	case ClosedMPICH:
		return p.Name + " was built with MPICH that has a libfabric inside, which loads no providers"
	case Libfabric:
		return p.Name + " uses libfabric"
	case Newer:
		return p.Name + " was linked with a libfabric that is newer than the one of the channels"
	case GASNet:
		return p.Name + " has a GASNet for channels"
	case OtherMPI:
		return p.Name + " was built with an MPI library that does not use libfabric"
	case Static:
		return p.Name + " is static"
	case Launcher:
		return p.Name + " starts processes of its own, which are not ranks of this job"
	case Interpreter:
		return p.Name + " may start a program of Open MPI"
	case Unknown:
	}
	return "it is unknown whether " + p.Name + " starts a program that uses libfabric"
}
