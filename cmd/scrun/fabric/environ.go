package fabric

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const libraryPath = "LD_LIBRARY_PATH"

// mcaPrefix is the prefix of variables that set parameters of Open MPI.
const mcaPrefix = "OMPI_MCA_"

// pml is the variable that makes Open MPI fail if it cannot use the chosen network. Without it,
// Open MPI prefers libfabric to its own network if it has both.
const pml = mcaPrefix + "pml"

// choosing lists the parameters by which users choose a network of Open MPI.
var choosing = []string{"pml", "mtl", "btl"}

// providerVariable is the variable by which users choose a provider of libfabric; provider is ours.
const (
	providerVariable = "FI_PROVIDER"
	provider         = "pm"
)

// mpichProvider is the variable by which users of MPICH choose a provider.
const mpichProvider = "MPIR_CVAR_OFI_USE_PROVIDER"

// variables returns the variables that make message-passing libraries use the provider. Debian's
// Open MPI has libfabric switched off by default; its one-sided operations over two-sided messages
// work on every provider, and only sm has windows that the ranks of a node share
// (MPI_Win_allocate_shared). Its memory hooks overwrite munmap of the C library during MPI_Init,
// while the library's threads run: a rank in some hundreds died of that, and channels need no
// hooks. MPICH must not use its own shared memory: a rank that polls without finding a message
// sleeps between polls, and only a channel's message wakes it. The last variable keeps Debian's own
// libfabric, where a program has it, from catching signals.
func variables(dir string) []string {
	return []string{
		"FI_PROVIDER_PATH=" + dir, providerVariable + "=" + provider,
		pml + "=cm", mcaPrefix + "mtl=ofi", mcaPrefix + "opal_common_ofi_provider_include=" + provider, mcaPrefix + "osc=sm,pt2pt",
		mcaPrefix + "memory=^patcher",
		"MPIR_CVAR_NOLOCAL=1",
		"IPATH_NO_BACKTRACE=1",
	}
}

// Settings returns the parameters of Open MPI that the user's own file sets,
// $HOME/.openmpi/mca-params.conf.
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

// Chosen returns the setting by which the user has chosen a network, "" if there is none.
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

// choosingProvider lists the variables by which users choose a network of libfabric.
var choosingProvider = []string{providerVariable, "SMA_OFI_PROVIDER", "SHMEM_OFI_PROVIDER"}

// ChosenProvider returns the variable by which the user has chosen a network of libfabric, "" if
// there is none.
func ChosenProvider(env []string) string {
	for _, name := range choosingProvider {
		if v := value(env, name); v != "" && v != provider {
			return name
		}
	}
	return ""
}

// Environ adds the variables to the environment of the ranks, except for those that are already set
// there or by settings. kept lists the names of the exceptions. ifAble is Choice.IfAble.
func Environ(env []string, dir string, ifAble bool, settings []string) (out, kept []string) {
	out = slices.Clone(env)
	if own := value(env, libraryPath); OwnLibfabric(env) {
		kept = append(kept, libraryPath) // with a libfabric of the user's choice, which loads the provider
	} else {
		out = slices.DeleteFunc(out, func(v string) bool { return strings.HasPrefix(v, libraryPath+"=") })
		out = append(out, strings.TrimSuffix(libraryPath+"="+dir+":"+own, ":"))
	}
	for _, v := range variables(dir) {
		name, _, _ := strings.Cut(v, "=")
		if name == pml && ifAble {
			continue
		}
		if isSet(env, name) || slices.Contains(settings, name) {
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
