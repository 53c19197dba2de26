package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	sharingGrain = 100 // microseconds of work between exchanges
	// sharingSteps makes one job run about two seconds.
	sharingSteps = 18000
	sharingRuns  = 5
)

// sharingCases are the slices and what two jobs may cost, relative to running
// them one after the other.
var sharingCases = []struct {
	slice    time.Duration
	maxRatio float64
}{
	{100 * time.Millisecond, 1.02},
	{10 * time.Millisecond, 1.01},
	{2 * time.Millisecond, 1.06},
}

// sharingGroup runs two fine-grained MPI jobs of two ranks one after the other
// and at the same time: gang-scheduled, and under Linux's own time sharing.
func sharingGroup(ctx context.Context, b *bench) error {
	program := filepath.Join(b.work, "bsp")
	if err := compile(ctx, "examples/mpi/bsp.c", program); err != nil {
		return err
	}
	rate, err := exec.CommandContext(ctx, program, "calibrate").Output()
	if err != nil {
		return fmt.Errorf("calibrating: %w", err)
	}
	env := "BSP_LOOPS_PER_US=" + strings.TrimSpace(string(rate))
	for _, nodes := range []int{1, 2} {
		if err := sharingOn(ctx, b, nodes, program, env); err != nil {
			return err
		}
	}
	return uncoordinated(ctx, b, program, env)
}

func sharingOn(ctx context.Context, b *bench, nodes int, program, env string) error {
	c, err := startCluster(ctx, b, clusterOptions{nodes: nodes})
	if err != nil {
		return err
	}
	defer c.stop()
	job := func() *exec.Cmd {
		cmd := c.scrun(ctx, "-N", fmt.Sprint(nodes), "-n", "2", program, fmt.Sprint(sharingGrain), fmt.Sprint(sharingSteps))
		cmd.Env = append(cmd.Env, env)
		return cmd
	}
	for _, k := range sharingCases {
		if err := c.setSlice(ctx, k.slice); err != nil {
			return err
		}
		together, apart, err := bothWays(sharingRuns, job)
		if err != nil {
			return err
		}
		b.pair(fmt.Sprintf("sharing_%dnodes_slice_%s_vs_sequence", nodes, k.slice), together, apart, "s", atMost("ratio", k.maxRatio))
	}
	return nil
}

// uncoordinated shows what Linux's own time sharing makes of the same.
func uncoordinated(ctx context.Context, b *bench, program, env string) error {
	job := func() *exec.Cmd {
		cmd := exec.CommandContext(ctx, "mpiexec.hydra", "-bind-to", "user:0,1", "-n", "2", program, fmt.Sprint(sharingGrain), fmt.Sprint(sharingSteps))
		cmd.Env = append(os.Environ(), env)
		return cmd
	}
	together, apart, err := bothWays(3, job)
	if err != nil {
		return err
	}
	b.pair("sharing_uncoordinated_vs_sequence", together, apart, "s", noTarget())
	return nil
}

// bothWays runs two jobs at once and one after the other, some times, and gives the seconds that
// each took.
func bothWays(times int, job func() *exec.Cmd) (together, apart []float64, err error) {
	for range times {
		a, err := oneAfterTheOther(job)
		if err != nil {
			return nil, nil, err
		}
		t, err := atOnce(job)
		if err != nil {
			return nil, nil, err
		}
		apart, together = append(apart, a), append(together, t)
	}
	return together, apart, nil
}

func oneAfterTheOther(job func() *exec.Cmd) (seconds float64, err error) {
	for range 2 {
		ms, err := milliseconds(job())
		if err != nil {
			return 0, err
		}
		seconds += ms / 1e3
	}
	return seconds, nil
}

func atOnce(job func() *exec.Cmd) (seconds float64, err error) {
	start := time.Now()
	ended := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := milliseconds(job())
			ended <- err
		}()
	}
	err = errors.Join(<-ended, <-ended)
	return time.Since(start).Seconds(), err
}
