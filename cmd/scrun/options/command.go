package options

import (
	"fmt"
	"score/cmd/cmdline"
	"score/cmd/scrun/fabric"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const long = `scrun runs a parallel program on the cluster, now: as many processes (ranks)
as -n says, started together, their output on this terminal. The nodes are
shared in time with other users' programs; all ranks of a program run at the
same instants.

If no cluster is configured, scrun runs the program on this machine, with a
cluster of its own for the lifetime of the job.

Options have the meaning that they have in srun. Everything after the program's
name belongs to the program. Arguments, environment and paths may be any bytes;
names of jobs and nodes are UTF-8.

If the job is still queued after a second, scrun prints what it waits for. While
the servers of a cluster have no majority, scrun waits for them; running jobs
continue. It retries the submission, but the job is submitted only once.

The first ^C shows the state of the ranks, a second one within a second ends the
job, a third one exits; scrun ends by the signal, so that a script around it
ends, too. Without a terminal the first SIGINT ends the job. Other signals are
forwarded to the ranks.`

const exitCodes = `The highest exit code of the ranks, or 128 plus the number of the signal that
killed one. 124: --kill-on-deadlock ended the job. 125: scrun or the cluster
failed. 126: the program cannot be executed. 127: the program was not found.`

const example = `  scrun -n 4 ./a.out                    four ranks
  scrun -n 4 -t 10:00 -o out.%t ./a.out ten minutes at most, a file per rank

On a cluster ('scored dev --nodes 2' makes one on this machine):
  scrun -N 2 -n 8 -l ./a.out            two nodes, lines labelled with ranks
  scrun -d -n 4 ./a.out                 detached: prints the job's number
  scrun -d -a 0-9 -o out.%a ./a.out     ten jobs, each with a SCORE_ARRAY_INDEX`

// Command returns scrun's command. It calls run for every valid command line.
func Command(run func(*Options) error) *cobra.Command {
	o := &Options{Export: exportAll}
	command := &cobra.Command{
		Use:                   "scrun [options] program [arguments]",
		Short:                 "run a parallel program on the cluster",
		Long:                  long,
		Example:               example,
		Args:                  cobra.ArbitraryArgs,
		DisableFlagsInUseLine: true,
		SilenceUsage:          true,
		SilenceErrors:         true,
		RunE: func(command *cobra.Command, args []string) error {
			o.Argv = args
			flags := command.Flags()
			o.tasksGiven, o.oversubscribeGiven = flags.Changed("ntasks"), flags.Changed("oversubscribe")
			if err := o.complete(); err != nil {
				return err
			}
			if err := o.checkOptional(flags); err != nil {
				return err
			}
			return run(o)
		},
	}
	command.CompletionOptions.DisableDefaultCmd = true
	command.SetHelpFunc(func(command *cobra.Command, _ []string) { printHelp(command) })
	command.SetFlagErrorFunc(func(command *cobra.Command, err error) error { return flagError(command.Flags(), err) })
	flags := command.Flags()
	flags.SetInterspersed(false)
	flags.SortFlags = false
	o.addSize(flags)
	o.addPlacement(flags)
	o.addStreams(flags)
	o.addProgram(flags)
	o.addEnd(flags)
	o.addMPI(flags)
	o.addStaging(flags)
	o.addFailures(flags)
	o.addStart(flags)
	o.addCluster(flags)
	completeWords(command)
	return command
}

// helpWidth is the width of the narrowest terminal in use.
const helpWidth = 80

// printHelp prints the help. It does not use cobra's templates, since these do not wrap lines.
func printHelp(command *cobra.Command) {
	fmt.Fprintf(command.OutOrStdout(), "%s\n\nUsage:\n  %s\n\nExamples:\n%s\n\nOptions:\n%s\nExit code:\n  %s\n",
		command.Long, command.Use, command.Example,
		command.LocalFlags().FlagUsagesWrapped(helpWidth),
		strings.ReplaceAll(exitCodes, "\n", "\n  "))
}

func (o *Options) addSize(flags *pflag.FlagSet) {
	flags.VarP(newParsed(&o.Tasks, "number", cmdline.ParseCount), "ntasks", "n", "ranks to run (default: one, or one per node of -N)")
	flags.VarP(newParsed(&o.Nodes, "number", cmdline.ParseCount), "nodes", "N", "nodes to run on (default: as few as hold the ranks)")
	flags.Var(
		newParsed(&o.TasksPerNode, "number", cmdline.ParseCount),
		"ntasks-per-node",
		"ranks on each node: with -N 2, 4 makes 8 ranks; with -n 8, 4 makes 2 nodes",
	)
	flags.VarP(newParsed(&o.CPUsPerTask, "number", cmdline.ParseCount), "cpus-per-task", "c", "CPUs for each rank (default: one)")
	flags.Var(newParsed(&o.Memory, "size", cmdline.ParseBytes), "mem", "memory on each node, with K, M, G or T (M without one)")
	flags.Var(
		newParsed(&o.Channels, "number", parseChannels),
		"channels",
		"channels that each rank opens with package pm, or auto: one if the program, or a program whose path is among the arguments, contains that package (default: auto; give the number if a script starts the program)",
	)
	flags.VarP(
		newParsed(&o.Time, "time", cmdline.ParseTime),
		"time",
		"t",
		"time limit: minutes, minutes:seconds, hours:minutes:seconds or days-hours[:minutes[:seconds]]; time in which other gangs run is not counted, and at the limit ranks get SIGTERM, and SIGKILL after kill_wait (30 seconds, see 'scored config' and --signal)",
	)
	flags.Var(
		newParsed(&o.Warning, "signal", cmdline.ParseWarning),
		"signal",
		"signal that the ranks get before the time limit, for instance to write a checkpoint: USR1, or USR1@300 for one 300 seconds of run time before it (default: 60 seconds)",
	)
}

func (o *Options) addPlacement(flags *pflag.FlagSet) {
	flags.VarP(
		newParsed(&o.Hosts, "nodes", parseHosts),
		"nodelist",
		"w",
		"nodes that the job must use: n1,n2 or n[1-4], or with a slash in it (./hosts) a file with a node on each line",
	)
	flags.VarP(newParsed(&o.Excluded, "nodes", parseExcluded), "exclude", "x", "nodes that the job must not get, as for --nodelist")
	flags.VarP(
		newParsed(&o.Distribution, "how", parseDistribution),
		"distribution",
		"m",
		"order of the ranks: block (0, 1, ... on the first node, then the next) or cyclic (on the nodes in turn; default: block)",
	)
	flags.Var(
		newParsed(&o.Priority, "number", parsePriority),
		"priority",
		"jobs of higher priority start first and get longer slices (default: 0, also the maximum unless 'scored user set' allows more)",
	)
	flags.BoolVarP(&o.Hold, "hold", "H", false, "do not start the job until 'scored job release'")
	flags.Var(
		newParsed(&o.Dependencies, "jobs", cmdline.ParseDependencies),
		"dependency",
		"start after other jobs, as in afterok:7:8,after:9: after they have started (after), ended (afterany), ended with exit code 0 (afterok) or another one (afternotok); if that becomes impossible, the job is cancelled",
	)
	flags.VarP(
		newParsed(&o.Array, "indexes", cmdline.ParseArray),
		"array",
		"a",
		"with --detach, submit a job for each index, as in 0-9, 1,3,7 or 0-100:10, and print their numbers; each has its index in SCORE_ARRAY_INDEX, and %a stands for it in names of files; with %4 behind the indexes at most 4 of the jobs run at once: each starts after the fourth before it has ended",
	)
	flags.BoolVar(&o.Exclusive, "exclusive", false, "do not share the nodes with other jobs, neither in space nor in time")
	flags.BoolVarP(&o.Oversubscribe, "oversubscribe", "s", false, "allow more ranks on a node than it has CPUs (default in a cluster of scored dev or scrun)")
}

func (o *Options) addStreams(flags *pflag.FlagSet) {
	flags.StringVarP(
		&o.input,
		"input",
		"i",
		"",
		"where input comes `from`: 0 (this terminal, to rank 0; the default), all, none, or a file that every rank reads",
	)
	flags.StringVarP(
		&o.output,
		"output",
		"o",
		"",
		"where output goes `to`: all (the default), none, one rank's number, or a file; in its name %t is the rank (%3t with three digits), %N the node, %j the job, %x its name, %a its index in an array",
	)
	flags.StringVarP(&o.errors, "error", "e", "", "where error output goes `to`, as for --output (default: this terminal, or the file of --output)")
	flags.BoolVarP(&o.Label, "label", "l", false, "put the rank before every line")
	flags.BoolVarP(&o.Unbuffered, "unbuffered", "u", false, "show output at once instead of line by line")
	flags.BoolVar(
		&o.PTY,
		"pty",
		false,
		"run rank 0 in a terminal that is connected to this one: for shells, editors and debuggers; ^C and ^Z go to the program, ~. at the beginning of a line ends the job, ~~ is one ~ there, and the output of other ranks is not shown",
	)
	flags.BoolVarP(
		&o.Detach,
		"detach",
		"d",
		false,
		"submit the job, print its number and exit; output goes to "+DetachedPattern+", and there is no input unless --input names a file",
	)
}

func (o *Options) addProgram(flags *pflag.FlagSet) {
	flags.StringVarP(&o.Name, "job-name", "J", "", "the job's `name` (default: the program's)")
	flags.StringVarP(&o.Dir, "chdir", "D", "", "run in this `directory` (default: the current one)")
	flags.Var(
		newParsed(&o.Export, "variables", parseExport),
		"export",
		"environment of the ranks: ALL (the default), NONE, or a comma-separated list of names and NAME=value",
	)
}

func (o *Options) addEnd(flags *pflag.FlagSet) {
	kill := flags.VarPF(newParsed(&o.KillOnBadExit, "0 or 1", parseKill), "kill-on-bad-exit", "K", "end the job when a rank exits with a code other than 0")
	kill.NoOptDefVal = "1"
	o.addDigits(flags)
	flags.BoolVar(&o.KillOnDeadlock, "kill-on-deadlock", false, "end the job when all ranks wait for messages that cannot come (exit code 124)")
}

func (o *Options) addMPI(flags *pflag.FlagSet) {
	flags.Var(
		newParsed(&o.MPI, "kind", parseMPI),
		"mpi",
		"process management interface: pmix, pmi (PMI-1 and PMI-2) or none (default: detected from the program)",
	)
	flags.Var(
		newParsed(&o.Fabric, "what", fabric.ParseWish),
		"fabric",
		"network of MPI: pm makes programs that use libfabric (Open MPI, MPICH over libfabric) exchange messages over channels; none leaves programs the network of their MPI library; auto selects channels for programs of Open MPI on several nodes, if they can use them, also behind scripts and in Python, and for those of Sandia OpenSHMEM and of a GASNet made for channels (default: auto)",
	)
}

func (o *Options) addStaging(flags *pflag.FlagSet) {
	stage := flags.VarPF(
		newParsed(&o.Stage, "what", parseStage),
		"stage",
		"",
		"copy files to the nodes, for nodes without this host's file systems: usual (the program and its libraries except the system's), program, all (also the system's libraries) or none; nodes cache them (default: none)",
	)
	stage.NoOptDefVal = "usual"
	flags.Var(
		newParsed(&o.stageFile, "file", o.parseStageFile),
		"stage-file",
		"copy this file, too, to the directory $SCORE_JOB_DIR/stage of each node; may be repeated",
	)
}

func (o *Options) addFailures(flags *pflag.FlagSet) {
	flags.BoolVar(
		&o.Requeue,
		"requeue",
		false,
		"restart the job, on other nodes, when one of its nodes, or its steward there, is lost, or the node is drained; its ranks may have run before (SCORE_RESTART_COUNT counts the restarts), and they are ended when their node has no contact to a server for 10 s",
	)
	flags.BoolVar(
		&o.Recover,
		"recover",
		false,
		"continue when a rank fails or a node is lost: ranks that registered for PMIx events are notified, and the job's exit code is the highest of all ranks",
	)
	flags.Var(
		newParsed(&o.Respawn, "times", parseRespawn),
		"respawn",
		"restart a rank that fails, on its node, up to this many times; the others continue, and SCORE_INCARNATION counts the restarts (default: 0; programs can also request it by PMI-2 or package pm/keys)",
	)
}

func (o *Options) addStart(flags *pflag.FlagSet) {
	flags.BoolVar(
		&o.TraceStart,
		"trace-start",
		false,
		"when the job has ended, show when each phase of its start was over on each node ('scored job show --help' explains them)",
	)
	flags.Var(
		newParsed(&o.Exchange, "how", parseExchange),
		"exchange",
		"algorithm of the exchange between nodes when MPI starts: tree, ring, bruck, or auto, by size (default: auto)",
	)
}

func (o *Options) addCluster(flags *pflag.FlagSet) {
	flags.StringVar(
		&o.Cluster,
		"cluster",
		"",
		"the cluster's `socket`, or embedded for a cluster of its own (default: $SCORE_SOCKET, else this host's, else that of scored dev, else embedded)",
	)
	flags.Var(
		newParsed(&o.Patience, "time", cmdline.ParseTime),
		"patience",
		"how long to wait for a cluster that cannot answer, in the form of --time (default: until its servers have a majority again; 30 seconds if no daemon runs, 6 before the job is submitted)",
	)
	flags.BoolVarP(&o.Verbose, "verbose", "v", false, "print what happens")
	flags.BoolVarP(&o.Quiet, "quiet", "q", false, "print neither warnings nor what the job waits for")
	flags.BoolVar(&o.Version, "version", false, "print the version")
	flags.BoolP("help", "h", false, "print this help")
}
