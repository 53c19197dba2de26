package options

import (
	"fmt"
	"score/cmd/cmdline"

	"github.com/spf13/pflag"
)

// foreign maps options of srun, and some of mpirun, mpiexec and flux, that scrun lacks to advice
// for the user.
var foreign = map[string]string{
	"accel-bind": noDevices, "gpu-bind": noDevices, "gpu-freq": noDevices, "gpus": noDevices, "G": noDevices, "gpus-per-node": noDevices,
	"gpus-per-socket": noDevices, "gpus-per-task": noDevices, "gres": noDevices, "gres-flags": noDevices, "ntasks-per-gpu": noDevices,
	"cpus-per-gpu": noDevices, "mem-per-gpu": noDevices, "tres-bind": noDevices, "tres-per-task": noDevices,
	"account": noAccounts, "A": noAccounts, "wckey": noAccounts, "qos": noAccounts,
	"partition": noPartitions, "p": noPartitions, "reservation": noPartitions, "constraint": noPartitions, "C": noPartitions,
	"licenses": noPartitions, "L": noPartitions, "prefer": noPartitions, "cluster-constraint": noPartitions,
	"tasks-per-node": ranksPerNode, "tasks-per-core": noCores, "cores-per-task": "-c sets the number of CPUs of each rank",
	"ntasks-per-core":   noCores,
	"ntasks-per-socket": noCores, "cores-per-socket": noCores, "sockets-per-node": noCores, "threads-per-core": noCores, "hint": noCores,
	"extra-node-info": noCores, "B": noCores, "cpu-bind": noCores, "mem-bind": noCores, "core-spec": noCores, "S": noCores, "thread-spec": noCores,
	"bind-to": noCores, "map-by": noCores, "rank-by": noCores, "bind-to-core": noCores, "use-hwthread-cpus": noCores, "cpu-set": noCores,
	"report-bindings": ranksShown, "display-map": ranksShown, "display": ranksShown, "display-allocation": ranksShown,
	"tag-output": labels, "label-io": labels, "prepend-rank": labels, "output-filename": "-o (--output) names a file, with %t for the rank",
	"timestamp-output": "ts of the package moreutils puts the time before lines: scrun ... | ts",
	"time-limit":       "-t (--time) sets the time limit", "timeout": "-t (--time) sets the time limit",
	"f": "-w names the nodes to use", "hosts": "-w names the nodes to use", "requires": "-w names the nodes to use, -x those not to use",
	"env": variables, "envall": variables, "envlist": variables, "envnone": variables, "setopt": noNeed, "setattr": noNeed,
	"cwd": "-D sets the directory to run in", "queue": noPartitions, "bank": noAccounts, "job": "-J names the job",
	"mem-per-cpu": "--mem sets the memory of the job on each node",
	"mincpus":     "-c sets the number of CPUs of each rank", "cores": "-c sets the number of CPUs of each rank",
	"overcommit": "-s (--oversubscribe) lets ranks share CPUs", "O": "-s (--oversubscribe) lets ranks share CPUs",
	"exact":    "-c sets the number of CPUs of each rank",
	"overlap":  "jobs share nodes and CPUs by taking turns, without an option",
	"share":    "jobs share nodes and CPUs by taking turns, without an option",
	"nodefile": nodeFile, "F": nodeFile,
	"hostfile": nodeFile, "machinefile": nodeFile,
	"host":     "-w names the nodes to use",
	"relative": "-w names the nodes to use", "r": "-w names the nodes to use",
	"contiguous": noShape, "switches": noShape, "spread-job": noShape, "use-min-nodes": noShape, "tmp": noShape,
	"begin": noLater, "b": noLater, "immediate": noLater, "I": noLater, "deadline": noLater, "delay-boot": noLater,
	"P": "--dependency names jobs that must start or end first", "singleton": "--dependency names jobs that must start or end first",
	"kill-on-invalid-dep": "a job whose --dependency cannot be satisfied any more is cancelled", "time-min": noLater, "test-only": noLater,
	"wait":  "-K (--kill-on-bad-exit) ends the job when a rank exits with a code other than 0",
	"W":     "-K (--kill-on-bad-exit) ends the job when a rank exits with a code other than 0",
	"bcast": "--stage copies the program and its libraries to the nodes", "send-libs": "--stage copies the program and its libraries to the nodes",
	"bcast-exclude": "--stage-file copies single files",
	"compress":      "--stage copies the program and its libraries to the nodes",
	"multi-prog":    programsPerRank, "het-group": programsPerRank, "pack-group": programsPerRank,
	"no-kill": "with --recover the job continues when a node is lost", "k": "with --recover the job continues when a node is lost",
	"nice":     "use --priority with a number below 0 for a later start",
	"clusters": "--cluster takes the socket of another cluster", "M": "--cluster takes the socket of another cluster",
	"jobid": allocations, "allocation": allocations, "no-allocate": allocations, "Z": allocations, "external": allocations,
	"step": allocations, "external-launcher": allocations,
	"interactive":  "--pty gives rank 0 a terminal",
	"propagate":    "ranks have the limits of this shell (ulimit)",
	"preserve-env": variables, "E": variables, "get-user-env": variables, "export-file": variables,
	"prolog": noScripts, "epilog": noScripts, "task-prolog": noScripts, "task-epilog": noScripts,
	"mail-type": "'scored job wait' returns when a job has ended", "mail-user": "'scored job wait' returns when a job has ended",
	"threads": noNeed, "T": noNeed, "slurmd-debug": noNeed, "debugger-test": noNeed, "msg-timeout": noNeed, "disable-status": noNeed, "X": noNeed,
	"quit-on-interrupt": "two ^C within one second end the job, without a terminal one SIGINT does",
	"open-mode":         "-o overwrites files; %j in the name gives each job its own",
	"no-requeue":        "jobs start again only with --requeue",
	"wrap":              "scrun sh -c 'COMMANDS' runs commands of the shell, with -d detached",
	"parsable":          "-d prints the job's number alone",
	"x11":               "ranks have the variable DISPLAY of this shell; the display must take connections from their nodes",
	"uid":               "sudo -u runs scrun as another user", "gid": "sudo -g runs scrun with another group",
	"comment": "use --job-name for a text that lists show", "extra": "use --job-name for a text that lists show",
	"np":  "-n sets the number of ranks",
	"ppn": ranksPerNode, "npernode": ranksPerNode, "perhost": ranksPerNode, "ranks-per-node": ranksPerNode,
	"pernode": "-N without -n runs a rank on each node",
	"genv":    variables, "genvall": variables, "genvlist": variables, "genvnone": variables,
	"allow-run-as-root": noNeed, "mca": "variables OMPI_MCA_NAME=VALUE set parameters of Open MPI",
	"wdir": "-D sets the directory to run in", "workdir": "-D sets the directory to run in",
	"usage": "--help lists all options", "V": "--version prints the version",
	"Q":       "-q (--quiet) shows no warnings",
	"profile": "'scored job show' shows what a job has used", "acctg-freq": "'scored job show' shows what a job has used",
	"container": noContainers, "container-id": noContainers, "power": noDevices, "bb": noDevices, "bbf": noDevices, "cpu-freq": noDevices,
	"treewidth": noNeed, "network": noNeed, "resv-ports": noNeed, "mpi-combine": noNeed, "stepmgr": noNeed,
}

// The advice for several options.
const (
	noDevices       = "jobs share all devices of their nodes without an option"
	noAccounts      = "there are no accounts; 'scored user list' shows each user's share"
	noPartitions    = "there are no partitions; -w names the nodes to use, -x those not to use"
	noCores         = "-c sets the number of CPUs of each rank, and -m (--distribution) the order of the ranks on the nodes"
	ranksPerNode    = "--ntasks-per-node sets the number of ranks on each node"
	ranksShown      = "-v shows the nodes of the ranks, 'scored job show' their CPUs"
	labels          = "-l (--label) puts the rank before every line"
	variables       = "--export sets the variables of the ranks"
	noShape         = "-N sets the number of nodes, and -w names them"
	noLater         = "jobs start as soon as they fit, with --hold when they are released, and with --dependency after other jobs"
	nodeFile        = "-w ./FILE names a file of the nodes to use"
	noScripts       = "run a script that does this before and after the program"
	noNeed          = "it is not needed here"
	noContainers    = "run the container's own launcher as the program"
	programsPerRank = "all ranks run one program; run a script that chooses by $SCORE_RANK, or start other programs by MPI_Comm_spawn_multiple"
	allocations     = "each scrun is a job of its own, and there is no allocation to run in"
)

// noOption returns the error for an unknown option, with advice or the nearest option.
func noOption(flags *pflag.FlagSet, option, name string) error {
	if instead := foreign[name]; instead != "" {
		return fmt.Errorf("scrun has no option %s: %s", option, instead)
	}
	return fmt.Errorf("unknown option %s%s; 'scrun --help' lists the options (options of the program come after its name)",
		option, cmdline.HintOption(option, flags))
}
