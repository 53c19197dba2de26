package main

import (
	"context"
	"os/exec"
	"slices"
)

// streams are the ways of 256 MiB through a launcher's program of one rank. "$@" is the launcher
// with its options.
var streams = []struct{ name, script string }{
	{"in", `head -c 256M /dev/zero | "$@" sh -c "cat >/dev/null"`},
	{"out", `"$@" head -c 256M /dev/zero | cat >/dev/null`},
	{"both", `head -c 256M /dev/zero | "$@" cat | cat >/dev/null`},
}

// streamsGroup times much input and output of one rank, beside other launchers. MPICH's
// mpiexec.hydra is none of them: as the program that reads ends, it fails.
func streamsGroup(ctx context.Context, b *bench) error {
	c, err := startCluster(ctx, b, clusterOptions{nodes: 2})
	if err != nil {
		return err
	}
	defer c.stop()
	slurm, slurmErr := startSlurm(ctx, b.work)
	if slurmErr == nil {
		defer slurm.stop()
	}
	for _, way := range streams {
		launchers := []func() *exec.Cmd{
			func() *exec.Cmd { return piped(ctx, way.script, c.scrun(ctx, "-n", "1")) },
			func() *exec.Cmd {
				return piped(ctx, way.script, exec.CommandContext(ctx, "mpirun.openmpi", "--allow-run-as-root", "-n", "1"))
			},
		}
		if slurmErr == nil {
			launchers = append(launchers, func() *exec.Cmd { return piped(ctx, way.script, slurm.step(ctx, 1)) })
		}
		series, err := alternate(b.runs, launchers...)
		if err != nil {
			return err
		}
		b.pair("streams_"+way.name+"_vs_openmpi", series[0], series[1], "ms", noTarget())
		if slurmErr == nil {
			b.pair("streams_"+way.name+"_vs_srun", series[0], series[2], "ms", noTarget())
		}
	}
	return slurmErr
}

// piped runs a shell's script whose arguments are a command.
func piped(ctx context.Context, script string, cmd *exec.Cmd) *exec.Cmd {
	arguments := slices.Concat([]string{"-o", "pipefail", "-c", script, "bash", cmd.Path}, cmd.Args[1:])
	shell := exec.CommandContext(ctx, "bash", arguments...)
	shell.Env, shell.Dir = cmd.Env, cmd.Dir
	return shell
}
