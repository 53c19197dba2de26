package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// sharingWork is what ranks compute between two exchanges.
const sharingWork = 100 * time.Microsecond

// sharingCases are the slices, and what two jobs may cost of one after the other.
var sharingCases = []sliceCase{
	{100 * time.Millisecond, 1.02},
	{10 * time.Millisecond, 1.01},
	{2 * time.Millisecond, 1.06},
}

// sharingTCP has MPICH use TCP, also between ranks of one node: gangs share the CPUs, not its
// shared memory.
var sharingTCP = []string{"MPIR_CVAR_NOLOCAL=1", "UCX_TLS=tcp,self"}

// sharingGroup runs two fine-grained MPI jobs of two ranks, unmodified MPICH over TCP, one after
// the other and at the same time: gang-scheduled, and by Linux's own time sharing.
func sharingGroup(ctx context.Context, b *bench) error {
	program := filepath.Join(b.work, "allreduce")
	if err := compileC(ctx, "mpicc.mpich", program, "tests/bench/testdata/allreduce.c"); err != nil {
		return err
	}
	for _, nodes := range []int{1, 2} {
		if err := sharingOn(ctx, b, nodes, program); err != nil {
			return err
		}
	}
	return uncoordinated(ctx, b, program)
}

func sharingOn(ctx context.Context, b *bench, nodes int, program string) error {
	c, err := startCluster(ctx, b, clusterOptions{nodes: nodes})
	if err != nil {
		return err
	}
	defer c.stop()
	run, err := sharingJob(func(args ...string) *exec.Cmd {
		return c.scrun(ctx, append([]string{"-N", strconv.Itoa(nodes), "-n", "2", program}, args...)...)
	})
	if err != nil {
		return err
	}
	beside, apart, err := c.sharedRuns(ctx, sharingCases, run)
	if err != nil {
		return err
	}
	for i, k := range sharingCases {
		b.overhead(fmt.Sprintf("sharing_%dnodes_slice_%s", nodes, k.slice), beside[i], apart, atMost("ratio", k.maxRatio))
	}
	return nil
}

// sharingJob returns a run of the program, which command starts, with as much work and as many
// rounds as the measurement needs.
func sharingJob(command func(args ...string) *exec.Cmd) (func(gate string) (progress, error), error) {
	run := func(rounds, steps int, gate string) (progress, error) {
		cmd := command(strconv.Itoa(rounds), strconv.Itoa(steps))
		cmd.Env = append(cmd.Environ(), sharingTCP...)
		return progressOf(atGate(cmd, gate))
	}
	steps, rounds, err := workOf(run, sharingWork, workRun)
	return func(gate string) (progress, error) { return run(rounds, steps, gate) }, err
}

// uncoordinated shows what Linux's own time sharing makes of the same.
func uncoordinated(ctx context.Context, b *bench, program string) error {
	run, err := sharingJob(func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "mpiexec.hydra", append([]string{"-bind-to", "user:0,1", "-n", "2", program}, args...)...)
		cmd.Env = os.Environ()
		return cmd
	})
	if err != nil {
		return err
	}
	beside, apart, err := bothWays(run)
	if err != nil {
		return err
	}
	b.overhead("sharing_uncoordinated", beside, apart, noTarget())
	return nil
}
