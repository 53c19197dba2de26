package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
)

// launchCounts are the numbers of tasks that a launch is timed with.
var launchCounts = []int{1, 4, 16, 64}

// hydraSlack is what a launch of few tasks may cost more than mpiexec.hydra,
// because every job is committed to disk first.
const hydraSlack = 5.0 // milliseconds

// launchGroup times `scrun -n N /bin/true` on a running cluster of two nodes.
func launchGroup(ctx context.Context, b *bench) error {
	c, err := startCluster(ctx, b, clusterOptions{nodes: 2})
	if err != nil {
		return err
	}
	defer c.stop()
	slurm, slurmErr := startSlurm(ctx, b.work)
	if slurmErr == nil {
		defer slurm.stop()
	}
	for _, n := range launchCounts {
		if err := launchAgainstHydra(ctx, b, c, n); err != nil {
			return err
		}
	}
	if slurmErr != nil {
		return slurmErr
	}
	for _, n := range launchCounts {
		if err := launchAgainstSlurm(ctx, b, c, slurm, n); err != nil {
			return err
		}
	}
	return nil
}

func launchAgainstHydra(ctx context.Context, b *bench, c *cluster, n int) error {
	series, err := alternate(b.runs,
		func() *exec.Cmd { return c.scrun(ctx, "--oversubscribe", "-n", fmt.Sprint(n), "/bin/true") },
		func() *exec.Cmd { return exec.CommandContext(ctx, "mpiexec.hydra", "-n", fmt.Sprint(n), "/bin/true") },
		func() *exec.Cmd { return forkFloor(ctx, n) })
	if err != nil {
		return err
	}
	t := atMost("ratio", 1)
	if n <= 4 {
		t = atMost("diff", hydraSlack)
	}
	b.pair(fmt.Sprintf("launch_true_%d_vs_hydra", n), series[0], series[1], "ms", t)
	b.pair(fmt.Sprintf("launch_true_%d_vs_fork", n), series[0], series[2], "ms", noTarget())
	return nil
}

// forkFloor starts n programs as cheaply as a shell can.
func forkFloor(ctx context.Context, n int) *exec.Cmd {
	return exec.CommandContext(ctx, "bash", "-c", fmt.Sprintf("for ((i=0;i<%d;i++)); do /bin/true & done; wait", n))
}

func launchAgainstSlurm(ctx context.Context, b *bench, c *cluster, s *slurm, n int) error {
	series, err := alternate(b.runs,
		func() *exec.Cmd { return c.scrun(ctx, "--oversubscribe", "-n", fmt.Sprint(n), "/bin/true") },
		func() *exec.Cmd { return s.srun(ctx, n, "/bin/true") })
	if err != nil {
		return err
	}
	b.pair(fmt.Sprintf("launch_true_%d_vs_srun", n), series[0], series[1], "ms", atMost("ratio", 0.5))
	return nil
}

var errNaN = errors.New("nothing was measured")
