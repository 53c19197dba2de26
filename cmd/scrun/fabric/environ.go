package fabric

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const libraryPath = "LD_LIBRARY_PATH"

// mcaPrefix begins variables that set parameters of Open MPI.
const mcaPrefix = "OMPI_MCA_"

// Parameters of Open MPI that depend on whether it may use its own network. pml selects the messaging
// layer. Open MPI prefers cm, the layer of libfabric, to ob1, that of its own network, if it can use
// both. A priority below zero means that it never selects ob1, and ends if it cannot use cm.
const (
	pml         = mcaPrefix + "pml"
	ob1Priority = mcaPrefix + "pml_ob1_priority"
	btl         = mcaPrefix + "btl"
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

// variables returns the variables that make message-passing libraries use the provider.
//
// Debian's Open MPI has libfabric switched off by default. osc: sm, which alone has windows that the
// ranks of a node share (MPI_Win_allocate_shared), then one-sided operations over messages (pt2pt),
// which Open MPI 4 has, then rdma, which Open MPI 5 has; rdma's usual priority is above that of pt2pt.
// memory: the memory hooks of Open MPI overwrite munmap of the C library
// during MPI_Init, while the library's threads run; one rank in some hundreds died of that, and
// channels need no hooks. MPIR_CVAR_NOLOCAL: MPICH must not use its own shared memory, since a rank
// that polls without finding a message sleeps between polls, and only a channel's message wakes it.
// IPATH_NO_BACKTRACE keeps Debian's own libfabric, if a program has it, from catching signals.
func variables(dir string) []string {
	return []string{
		"FI_PROVIDER_PATH=" + dir, providerVariable + "=" + provider,
		mcaPrefix + "mtl=ofi", mcaPrefix + "opal_common_ofi_provider_include=" + provider,
		mcaPrefix + "osc=^ucx", mcaPrefix + "osc_rdma_priority=5",
		mcaPrefix + "memory=^patcher",
		"MPIR_CVAR_NOLOCAL=1",
		"IPATH_NO_BACKTRACE=1",
	}
}

// transports returns the variables that select Open MPI's messaging layer and transports. The windows
// of Open MPI 5 need a transport (btl), and Open MPI 5 starts transports only if it may consider ob1.
// With pml=cm it has no windows between nodes. If the user has chosen the messaging layer, it has the
// transports that it would have without channels.
func transports(ifAble, chosen bool) []string {
	switch {
	case chosen:
		return []string{pml + "=^ucx"}
	case ifAble:
		return []string{btl + "=^uct,openib"}
	default:
		return []string{pml + "=^ucx", ob1Priority + "=-1", btl + "=self,vader,ofi"}
	}
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
		if name = mcaPrefix + name; value(env, name) != "" || slices.Contains(settings, name) {
			return name
		}
	}
	for _, name := range []string{providerVariable, mpichProvider} {
		if v := value(env, name); v != "" && v != provider {
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
		if v := value(env, name); v != "" && v != provider {
			return name
		}
	}
	return ""
}

// Environ adds the variables to the environment of the ranks, except those that env or settings
// sets; kept are their names. ifAble is the field of the Choice.
func Environ(env []string, dir string, ifAble bool, settings []string) (out, kept []string) {
	out = slices.Clone(env)
	if own := value(env, libraryPath); OwnLibfabric(env) {
		kept = append(kept, libraryPath) // with a libfabric of the user's choice, which loads the provider
	} else {
		out = slices.DeleteFunc(out, func(v string) bool { return strings.HasPrefix(v, libraryPath+"=") })
		out = append(out, strings.TrimSuffix(libraryPath+"="+dir+":"+own, ":"))
	}
	set := func(name string) bool { return isSet(env, name) || slices.Contains(settings, name) }
	for _, v := range append(variables(dir), transports(ifAble, set(pml))...) {
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
func OwnLibfabric(env []string) bool { return anyHas(value(env, libraryPath)) }

func anyHas(list string) bool {
	return slices.ContainsFunc(filepath.SplitList(list), func(dir string) bool { return dir != "" && has(dir) })
}

func isSet(env []string, name string) bool {
	return slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, name+"=") })
}

func value(env []string, name string) string {
	for _, v := range slices.Backward(env) {
		if text, found := strings.CutPrefix(v, name+"="); found {
			return text
		}
	}
	return ""
}
