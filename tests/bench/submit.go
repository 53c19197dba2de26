package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"score/scored/api/scorev1"
	"score/scored/client"
	"score/tests/daemons"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sync/errgroup"
)

const (
	// submitClients submit at once, each by a connection of its own.
	submitClients = 64
	// submitServers is the number of servers of a replicated cluster.
	submitServers = 3
	// submitRunning jobs run, and submitQueued wait behind them.
	submitRunning = 1000
	submitQueued  = 10000
	// submitNodes have together as many CPUs as jobs run.
	submitNodes = 8
	// submitVariables is how many variables a job's environment has, some 2 KiB, as that of a login
	// shell.
	submitVariables = 40
	// submitRate and submitTail are what is promised of submissions.
	submitRate = 2000 // per second
	submitTail = 100  // ms, the 99th percentile
	// submitMemory and submitList are promised of a server that has all these jobs.
	submitMemory = 300 // MB
	submitList   = 300 // ms
	// maxSubmitSnapshot is promised of saving the state, and no submission may take longer
	// meanwhile.
	maxSubmitSnapshot = 1000 // ms
	// submitCalls of a command are made, submitHands at once.
	submitCalls, submitHands = 64, 8
)

// submitGroup loads servers as a busy site does: many clients at once, then many jobs. The agents
// are simulated, in this process: they say what agents say of jobs that run and run.
func submitGroup(ctx context.Context, b *bench) error {
	for _, servers := range []int{0, submitServers} {
		if err := submitCluster(ctx, b, servers); err != nil {
			return err
		}
	}
	return submitElect(ctx, b)
}

// submitCluster measures a cluster of the given number of servers; 0 is one server without
// certificates.
func submitCluster(ctx context.Context, b *bench, servers int) error {
	name := fmt.Sprintf("submit_%d", max(servers, 1))
	dir := filepath.Join(b.work, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	c, err := daemons.Start(ctx, daemons.Options{Bin: b.bin, Dir: dir, Servers: servers})
	if err != nil {
		return err
	}
	defer func() {
		if err := c.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	agents, err := startStubAgents(ctx, c)
	if err != nil {
		return err
	}
	defer agents.stop()
	if err := submitSettings(ctx, c); err != nil {
		return err
	}
	if _, _, err := submitBurst(ctx, c, submitRunning); err != nil {
		return err
	}
	if err := agents.awaitRunning(ctx, submitRunning); err != nil {
		return err
	}
	rate, took, err := submitBurst(ctx, c, submitQueued)
	if err != nil {
		return err
	}
	b.single(name+"_rate", rate, "per_s", atLeast("value", submitRate))
	b.single(name+"_median", median(took), "ms", noTarget())
	b.single(name+"_p99", quantile(took, 0.99), "ms", atMost("value", submitTail))
	if err := submitStanding(ctx, b, c, name); err != nil {
		return err
	}
	if servers > 0 {
		return nil
	}
	return submitCommands(ctx, b, c)
}

// submitSettings lets no two jobs share a CPU, so that the others wait.
func submitSettings(ctx context.Context, c *daemons.Cluster) error {
	_, err := c.Cluster.SetSettings(ctx, connect.NewRequest(&scorev1.SetSettingsRequest{
		Settings: &scorev1.Settings{MaxRows: 1}, Fields: []string{"max_rows"},
	}))
	return err
}

// submitSpec is a job of one rank with the environment of a login shell.
func submitSpec() *scorev1.JobSpec {
	spec := &scorev1.JobSpec{
		Name: "load", Argv: []string{"/usr/local/bin/simulate", "--steps", "1000"}, WorkDir: "/home/ada/project", Tasks: 1,
		Detached: true, StdoutPattern: "out-%j", MemoryPerNodeBytes: 1 << 20,
	}
	for i := range submitVariables {
		spec.Env = append(spec.Env, fmt.Sprintf("VARIABLE_%02d=/usr/local/lib/something/of/usual/length/%02d", i, i))
	}
	return spec
}

// submitBurst submits jobs from all clients, which are spread over the servers. It returns how many
// were acknowledged per second, and how long each took, in milliseconds.
func submitBurst(ctx context.Context, c *daemons.Cluster, jobs int) (rate float64, took []float64, err error) {
	spec := submitSpec()
	var left atomic.Int64
	left.Store(int64(jobs))
	series, errs := make([][]float64, submitClients), make([]error, submitClients)
	var all sync.WaitGroup
	begin := time.Now()
	for i := range submitClients {
		all.Go(func() {
			user := client.New(c.Servers[i%len(c.Servers)].Socket)
			defer user.Close()
			for left.Add(-1) >= 0 {
				start := time.Now()
				if _, errs[i] = user.Jobs.Submit(ctx, connect.NewRequest(&scorev1.SubmitRequest{Spec: spec})); errs[i] != nil {
					return
				}
				series[i] = append(series[i], float64(time.Since(start).Nanoseconds())/1e6)
			}
		})
	}
	all.Wait()
	rate = float64(jobs) / time.Since(begin).Seconds()
	return rate, slices.Concat(series...), errors.Join(errs...)
}

// submitStanding looks at servers that have all the jobs.
func submitStanding(ctx context.Context, b *bench, c *daemons.Cluster, name string) error {
	largest := 0.0
	for _, s := range c.Servers {
		resident, err := residentMB(s.PID())
		if err != nil {
			return err
		}
		largest = max(largest, resident)
	}
	b.single(name+"_server_resident", largest, "MB", atMost("value", submitMemory))
	scored := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, filepath.Join(b.bin, "scored"), args...)
		cmd.Env = append(os.Environ(), "SCORE_SOCKET="+c.Socket())
		return cmd
	}
	series, err := alternate(b.runs, func() *exec.Cmd { return scored("job", "list") })
	if err != nil {
		return err
	}
	b.single(name+"_job_list", median(series[0]), "ms", atMost("value", submitList))
	return submitSnapshot(ctx, b, c, name, func() *exec.Cmd {
		return scored("snapshot", "save", "--replace", filepath.Join(c.Dir, "snapshot"))
	})
}

// submitSnapshot saves the state, while a client submits jobs one after the other.
func submitSnapshot(ctx context.Context, b *bench, c *daemons.Cluster, name string, save func() *exec.Cmd) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var waits []float64
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() {
		defer cancel()
		for ctx.Err() == nil {
			start := time.Now()
			if _, err := c.Jobs.Submit(ctx, connect.NewRequest(&scorev1.SubmitRequest{Spec: submitSpec()})); err != nil {
				return
			}
			waits = append(waits, float64(time.Since(start).Nanoseconds())/1e6)
		}
	})
	series, err := alternate(b.runs, save)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w: a submission failed while the state was saved", errNaN)
	}
	cancel()
	all.Wait()
	b.single(name+"_snapshot", median(series[0]), "ms", atMost("value", maxSubmitSnapshot))
	b.single(name+"_wait_meanwhile", quantile(waits, 1), "ms", atMost("value", maxSubmitSnapshot))
	return nil
}

// submitCommands compares the commands by which users submit, submitHands at once, while all those
// jobs wait.
func submitCommands(ctx context.Context, b *bench, c *daemons.Cluster) error {
	peer, err := startSlurm(ctx, b.work)
	if err != nil {
		return err
	}
	defer peer.stop()
	ours := func() *exec.Cmd {
		cmd := exec.CommandContext(ctx, filepath.Join(b.bin, "scrun"), "-d", "-n", "1", "-o", os.DevNull, "/bin/true")
		cmd.Env = append(os.Environ(), "SCORE_SOCKET="+c.Socket())
		return cmd
	}
	theirs := func() *exec.Cmd {
		return peer.command(ctx, "sbatch", "-n", "1", "-o", os.DevNull, "--wrap", "/bin/true")
	}
	var scrun, sbatch []float64
	for round := -1; round < b.runs; round++ {
		one, err := commandsPerSecond(ours)
		if err != nil {
			return err
		}
		other, err := commandsPerSecond(theirs)
		if err != nil {
			return err
		}
		if round >= 0 {
			scrun, sbatch = append(scrun, one), append(sbatch, other)
		}
	}
	b.pair("submit_commands_vs_sbatch", scrun, sbatch, "per_s", atLeast("ratio", 1))
	return nil
}

// commandsPerSecond runs a command submitCalls times, submitHands at once.
func commandsPerSecond(command func() *exec.Cmd) (float64, error) {
	var group errgroup.Group
	group.SetLimit(submitHands)
	begin := time.Now()
	for range submitCalls {
		group.Go(func() error {
			_, err := milliseconds(command())
			return err
		})
	}
	err := group.Wait()
	return submitCalls / time.Since(begin).Seconds(), err
}
