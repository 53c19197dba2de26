package fabric

import (
	"bufio"
	"os"
	"path/filepath"
	"score/scored/api/environ"
	"slices"
	"strings"
)

const libraryPath = "LD_LIBRARY_PATH"

// mcaPrefix begins variables that set parameters of Open MPI.
const mcaPrefix = "OMPI_MCA_"

// Parameters of Open MPI. pml selects the messaging layer: by default Open MPI prefers cm, the
// layer of libfabric, to ob1, that of its own network, if it can use both. With a priority below
// zero Open MPI never selects ob1, and ends if it cannot use cm. osc selects what one-sided
// operations use.
const (
	pml         = mcaPrefix + "pml"
	ob1Priority = mcaPrefix + "pml_ob1_priority"
	btl         = mcaPrefix + "btl"
	osc         = mcaPrefix + "osc"
)

// choosing are the parameters by which users choose a network of Open MPI.
var choosing = []string{"pml", "mtl", "btl"}

// providerVariable is the variable by which users choose a provider of libfabric. provider is the
// provider of the channels.
const (
	providerVariable = "FI_PROVIDER"
	provider         = "pm"
)

// mpichProvider is the variable by which users of MPICH choose a provider.
const mpichProvider = "MPIR_CVAR_OFI_USE_PROVIDER"

// mallocTunables keep the page faults of new memory out of messages and steps (mallopt(3)). Open
// MPI packs each message of a type with gaps into memory that it allocates, at both ends, and
// programs free their arrays and make them again. With new pages each time, that takes longer than
// the copies. So malloc takes arrays of up to 128 MiB from its heap, and keeps up to 256 MiB of
// free heap: four times its own choice in most programs. Huge pages would speed up the first use of
// an array by a fifth, but would make all of a buffer resident that is used only in part.
const mallocTunables = "glibc.malloc.mmap_threshold=134217728:glibc.malloc.trim_threshold=268435456"

// variables returns the variables that make message-passing libraries use the provider:
//
//   - mtl and opal_common_ofi_provider_include: Debian's Open MPI has libfabric switched off.
//   - memory: the memory hooks of Open MPI overwrite munmap of the C library during MPI_Init, while
//     the library's threads run. One rank in some hundreds died of that, and channels need no hooks.
//   - MPIR_CVAR_NOLOCAL: MPICH must not use its own shared memory. A rank that polls without finding
//     a message sleeps between polls, and only a channel's message wakes it.
//   - IPATH_NO_BACKTRACE keeps Debian's own libfabric, if a program has it, from catching signals.
func variables(dir string) []string {
	return []string{
		"FI_PROVIDER_PATH=" + dir, providerVariable + "=" + provider,
		mcaPrefix + "mtl=ofi", mcaPrefix + "opal_common_ofi_provider_include=" + provider,
		mcaPrefix + "memory=^patcher",
		"MPIR_CVAR_NOLOCAL=1",
		"IPATH_NO_BACKTRACE=1",
		"GLIBC_TUNABLES=" + mallocTunables,
	}
}

// Target is what the variables are for.
type Target struct {
	IfAble    bool // the field of the Choice
	OpenMPI5  bool // the field of the Program
	NoWindows bool // the field of the Program
}

// layers returns the variables that select Open MPI's layers. chosen: the user has chosen the
// messaging layer, which then has the transports that it would have without channels.
func (t Target) layers(chosen bool) []string {
	if t.OpenMPI5 {
		return t.layers5(chosen)
	}
	// Operations over two-sided messages (pt2pt) work on every provider, and only sm has windows
	// that the ranks of a node share (MPI_Win_allocate_shared).
	oneSided := osc + "=sm,pt2pt"
	if t.IfAble {
		return []string{oneSided}
	}
	return []string{pml + "=cm", oneSided}
}

// layers5 is for Open MPI 5, which has no pt2pt. Its windows need a transport (btl), and it starts
// transports only if it may consider ob1. That of libfabric makes a start a tenth longer, so
// programs without windows and Open MPI 4, which do not need it, do not get it.
func (t Target) layers5(chosen bool) []string {
	oneSided := osc + "=^ucx"
	switch {
	case chosen:
		return []string{oneSided, pml + "=^ucx"}
	case t.IfAble:
		return []string{oneSided, btl + "=^uct,openib"}
	}
	transports := btl + "=self,vader"
	if !t.NoWindows {
		transports += ",ofi"
	}
	return []string{oneSided, pml + "=^ucx", ob1Priority + "=-1", transports}
}

// Settings returns the parameters of Open MPI that the user's file $HOME/.openmpi/mca-params.conf
// sets.
func Settings(home string) (names []string) {
	file, err := os.Open(filepath.Join(home, ".openmpi/mca-params.conf"))
	if err != nil {
		return nil
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		name, _, found := strings.Cut(lines.Text(), "=")
		if name = strings.TrimSpace(name); found && name != "" && !strings.HasPrefix(name, "#") {
			names = append(names, mcaPrefix+name)
		}
	}
	return names
}

// Chosen returns the setting by which the user has chosen a network himself; empty: there is none.
func Chosen(env, settings []string) string {
	for _, name := range choosing {
		if name = mcaPrefix + name; environ.Value(env, name) != "" || slices.Contains(settings, name) {
			return name
		}
	}
	for _, name := range []string{providerVariable, mpichProvider} {
		if v := environ.Value(env, name); v != "" && v != provider {
			return name
		}
	}
	return ""
}

// choosingProvider are the variables by which users choose a network of libfabric.
var choosingProvider = []string{providerVariable, "SMA_OFI_PROVIDER", "SHMEM_OFI_PROVIDER"}

// ChosenProvider returns the variable by which the user has chosen a network of libfabric, "" if
// none.
func ChosenProvider(env []string) string {
	for _, name := range choosingProvider {
		if v := environ.Value(env, name); v != "" && v != provider {
			return name
		}
	}
	return ""
}

// Environ adds the variables to the environment of the ranks, except those that env or settings
// sets; kept are their names.
func Environ(env []string, dir string, target Target, settings []string) (out, kept []string) {
	out = slices.Clone(env)
	if own := environ.Value(env, libraryPath); OwnLibfabric(env) {
		kept = append(kept, libraryPath) // with a libfabric of the user's choice, which loads the provider
	} else {
		out = environ.Override(out, []string{strings.TrimSuffix(libraryPath+"="+dir+":"+own, ":")})
	}
	set := func(name string) bool { return isSet(env, name) || slices.Contains(settings, name) }
	for _, v := range append(variables(dir), target.layers(set(pml))...) {
		name, _, _ := strings.Cut(v, "=")
		if set(name) {
			kept = append(kept, name)
			continue
		}
		out = append(out, v)
	}
	return out, kept
}

// OwnLibfabric reports whether the user's LD_LIBRARY_PATH has a libfabric, which stays in use.
func OwnLibfabric(env []string) bool { return anyHas(environ.Value(env, libraryPath)) }

func anyHas(list string) bool {
	return slices.ContainsFunc(filepath.SplitList(list), func(dir string) bool { return dir != "" && has(dir) })
}

func isSet(env []string, name string) bool {
	return slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, name+"=") })
}
