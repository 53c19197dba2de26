package pmi

import (
	"strconv"
	"strings"
)

// Environ appends the variables by which a rank finds its PMI server. fd is the number of the
// connected stream socket in the rank's process. Both protocol versions use the same variables.
// MPI_LOCALNRANKS and MPI_LOCALRANKID are hydra's; scripts read them to choose a device.
func (e *Engine) Environ(dst []string, rank, fd int) []string {
	slot, ok := e.Slot(rank)
	if !ok {
		return dst
	}
	dst = append(dst,
		"PMI_FD="+strconv.Itoa(fd),
		"PMI_RANK="+strconv.Itoa(rank),
		"PMI_SIZE="+strconv.Itoa(e.Size()),
		"PMI_JOBID="+e.info.KVSName,
		"MPI_LOCALNRANKS="+strconv.Itoa(len(e.local)),
		"MPI_LOCALRANKID="+strconv.Itoa(slot),
	)
	if e.info.SpawnerJob != "" {
		dst = append(dst, "PMI_SPAWNED=1")
	}
	return dst
}

// inheritedPrefixes lists prefixes of variables that another launcher set for the shell or batch
// script in which the user typed the command. A program that sees them would talk to that launcher,
// or take itself for one of its ranks.
var inheritedPrefixes = []string{
	"PMI_", "PMI2_", "PMIX_",
	"PRTE_", "PRRTE_",
	"HYDI_", "HYDRA_LAUNCHER",
	"SLURM_PMI", "SLURM_MPI_",
	"OMPI_COMM_WORLD_", "OMPI_MCA_orte_", "OMPI_MCA_ess", "OMPI_MCA_pmix_", "OMPI_MCA_prte_",
	"PALS_", "ALPS_APP_",
}

// inheritedNames lists such variables without a common prefix.
var inheritedNames = map[string]bool{
	"MPI_LOCALNRANKS": true, "MPI_LOCALRANKID": true,
	"MPIR_CVAR_CH3_INTERFACE_HOSTNAME": true,
	"OMPI_ARGV":                        true, "OMPI_COMMAND": true, "OMPI_APP_CTX_NUM_PROCS": true,
	"OMPI_FIRST_RANKS": true, "OMPI_NUM_APP_CTX": true, "OMPI_UNIVERSE_SIZE": true,
	"OMPI_FILE_LOCATION": true, "OMPI_MCA_initial_wdir": true, "OMPI_MCA_schizo": true,
}

// keptNames lists variables with an inherited prefix that are the user's own settings.
var keptNames = map[string]bool{
	"OMPI_MCA_pmix_base_async_modex": true, "OMPI_MCA_pmix_base_collect_data": true,
	"PMIX_DEBUG": true, "PMIX_INSTALL_PREFIX": true, "PMIX_PREFIX": true, // where a relocated libpmix is
}

// libpmixSettings is the prefix of a user's settings of libpmix, which other launchers also pass
// on.
const libpmixSettings = "PMIX_MCA_"

// servedNames lists the settings with that prefix that depend on the server, and so must not come
// from another launcher: how clients store job information, connect, authenticate, and encode
// values.
var servedNames = map[string]bool{
	"PMIX_MCA_gds": true, "PMIX_MCA_ptl": true, "PMIX_MCA_psec": true, "PMIX_MCA_bfrops": true,
}

// Inherited reports whether a variable was set by a launcher for its own ranks.
func Inherited(name string) bool {
	if kept(name) {
		return false
	}
	if inheritedNames[name] {
		return true
	}
	for _, prefix := range inheritedPrefixes {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func kept(name string) bool {
	return keptNames[name] || strings.HasPrefix(name, libpmixSettings) && !servedNames[name]
}
