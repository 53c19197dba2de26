package mpidetect

import (
	"debug/elf"
	"strings"
)

// Family is the kind of parallel program, which determines its protocol with the launcher.
type Family uint8

const (
	// None: not a parallel program, or not a binary at all (a script).
	None Family = iota
	// MPICH: MPICH or one of its descendants; speaks PMI-1, some PMI-2.
	MPICH
	// OpenMPI speaks PMIx.
	OpenMPI
	// PMIx calls PMIx itself, without Open MPI.
	PMIx
	// PMI2 calls a PMI library, such as Slurm's libpmi2.
	PMI2
	// StaticUnknown: statically linked, so its family is not visible.
	StaticUnknown
)

func (f Family) String() string {
	switch f {
	case None:
		return "none"
	case MPICH:
		return "mpich"
	case OpenMPI:
		return "openmpi"
	case PMIx:
		return "pmix"
	case PMI2:
		return "pmi2"
	case StaticUnknown:
		return "static-unknown"
	}
	return "unknown"
}

// Parallel reports whether ranks of such a program are expected to contact
// their launcher.
func (f Family) Parallel() bool { return f == MPICH || f == OpenMPI || f == PMIx || f == PMI2 }

// libraries maps prefixes of library names to families. The version distinguishes MPICH's libmpi
// from Open MPI's: 12 and 0 are the ABI of MPICH and its descendants, 20 and 40 and later Open
// MPI's.
var libraries = []struct {
	prefix string
	family Family
}{
	{"libmpich.so", MPICH},
	{"libmpichcxx.so", MPICH},
	{"libmpichfort.so", MPICH},
	{"libfmpich.so", MPICH},
	{"libmpifort.so.12", MPICH},
	{"libmpicxx.so.12", MPICH},
	{"libmpi.so.12", MPICH},
	{"libmpi.so.0", MPICH},
	{"libmpi_mt.so", MPICH},
	{"libmpi_cray.so", MPICH},
	{"libmvapich", MPICH},
	{"libmpi.so", OpenMPI},
	{"libmpi_cxx.so", OpenMPI},
	{"libmpi_mpifh.so", OpenMPI},
	{"libmpi_usempi", OpenMPI},
	{"liboshmem.so", OpenMPI},
	{"libopen-rte.so", OpenMPI},
	{"libopen-pal.so", OpenMPI},
	{"libpmix.so", PMIx},
	{"libprrte.so", PMIx},
	{"libpmi2.so", PMI2},
	{"libpmi.so", PMI2},
}

// familyOf returns the family by the names of the libraries. An MPI takes precedence over the PMI
// library that it may come with.
func familyOf(needed []string) Family {
	found := None
	for _, name := range needed {
		if family := libraryFamily(name); family != None && (found == None || found == PMI2 || found == PMIx) {
			found = family
		}
	}
	return found
}

func libraryFamily(name string) Family {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[i+1:]
	}
	for _, library := range libraries {
		if strings.HasPrefix(name, library.prefix) {
			return library.family
		}
	}
	return None
}

// Report is the result of Inspect.
type Report struct {
	Family Family
	// ELF is false for scripts and other files; the other fields are empty then.
	ELF     bool
	Machine elf.Machine
	Class   elf.Class
	// Needed holds the names of the libraries, in the order of the file.
	Needed []string
	// rpath and runpath are the search paths of the file itself: DT_RPATH, DT_RUNPATH.
	rpath, runpath []string
}

// machines maps Go's names of architectures to ELF machine and class, and to a second machine of
// which 32-bit programs run there, too.
var machines = map[string]struct {
	machine elf.Machine
	class   elf.Class
	also    elf.Machine
}{
	"amd64":   {elf.EM_X86_64, elf.ELFCLASS64, elf.EM_386},
	"386":     {elf.EM_386, elf.ELFCLASS32, elf.EM_386},
	"arm64":   {elf.EM_AARCH64, elf.ELFCLASS64, elf.EM_ARM},
	"arm":     {elf.EM_ARM, elf.ELFCLASS32, elf.EM_ARM},
	"riscv64": {elf.EM_RISCV, elf.ELFCLASS64, elf.EM_NONE},
	"ppc64le": {elf.EM_PPC64, elf.ELFCLASS64, elf.EM_NONE},
	"s390x":   {elf.EM_S390, elf.ELFCLASS64, elf.EM_NONE},
	"loong64": {elf.EM_LOONGARCH, elf.ELFCLASS64, elf.EM_NONE},
}

// Runs reports whether a host of the architecture goarch (as runtime.GOARCH names it) can run the
// file. It is true for files that are not ELF, since the kernel decides by their first line, and
// for unknown architectures. A host may still run foreign programs through binfmt_misc, so a caller
// should only warn, and name Machine.
func (r *Report) Runs(goarch string) bool {
	host, known := machines[goarch]
	if !r.ELF || !known {
		return true
	}
	if r.Machine == host.machine {
		// Machine x86-64 in class 32 is x32, which most amd64 hosts run.
		return r.Class == host.class || host.machine == elf.EM_X86_64
	}
	return host.also != elf.EM_NONE && r.Machine == host.also
}
