package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"score/tests/devcluster"
	"strings"
	"syscall"
)

const (
	nodes = 2
	// grainMicros is the work between two exchanges: fine enough that a rank
	// which waits for a partner that does not run loses most of its time.
	grainMicros = 100
	// soloSteps make one job run some four seconds.
	soloSteps = 32000
	slice     = "20ms"
)

// names of the two programs, also their jobs'.
var names = []string{"east", "west"}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := demo(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func demo(ctx context.Context) error {
	work, err := os.MkdirTemp("", "score-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	p, err := build(ctx, work)
	if err != nil {
		return err
	}
	overChannels, err := p.withOpenMPI(ctx, work)
	if err != nil {
		return err
	}
	cluster, err := start(ctx, work)
	if err != nil {
		return err
	}
	defer cluster.stop()
	return compare(ctx, cluster, p, overChannels)
}

// program is the compiled example, the environment that fixes its work, and scrun's options for it.
type program struct {
	path    string
	env     []string
	options []string
}

func build(ctx context.Context, work string) (program, error) {
	p := program{path: filepath.Join(work, "bsp")}
	if err := compile(ctx, "mpicc.mpich", p.path); err != nil {
		return p, err
	}
	rate, err := exec.CommandContext(ctx, p.path, "calibrate").Output()
	if err != nil {
		return p, fmt.Errorf("calibrating: %w", err)
	}
	p.env = append(os.Environ(), "BSP_LOOPS_PER_US="+strings.TrimSpace(string(rate)))
	return p, nil
}

// withOpenMPI is the program built with an MPI library that can use channels.
func (p program) withOpenMPI(ctx context.Context, work string) (program, error) {
	other := program{path: filepath.Join(work, "bsp-openmpi"), env: p.env, options: []string{"--fabric", "pm"}}
	return other, compile(ctx, "mpicc.openmpi", other.path)
}

func compile(ctx context.Context, compiler, to string) error {
	say("$ %s -O2 -o %s examples/mpi/bsp.c", compiler, filepath.Base(to))
	out, err := exec.CommandContext(ctx, compiler, "-O2", "-w", "-o", to, "examples/mpi/bsp.c", "-lm").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", compiler, err, out)
	}
	return nil
}

func (p program) args(name string) []string {
	return []string{p.path, fmt.Sprint(grainMicros), fmt.Sprint(soloSteps), name}
}

// ways are the results of the programs: one alone and both at the same time.
type ways struct{ alone, gang, channelsAlone, channels, plain []result }

// compare runs all ways and prints the table.
func compare(ctx context.Context, c *cluster, p, overChannels program) error {
	var w ways
	for _, way := range []struct {
		says    string
		program program
		names   []string
		results *[]result
	}{
		{fmt.Sprintf("One program alone, %d us of work between exchanges, one rank on each of %d nodes:", grainMicros, nodes), p, names[:1], &w.alone},
		{fmt.Sprintf("Two programs at the same time, gang-scheduled, slices of %s:", slice), p, names, &w.gang},
		{"One program alone, built with Open MPI, its messages over channels that are switched with the gang:", overChannels, names[:1], &w.channelsAlone},
		{"Two of these at the same time:", overChannels, names, &w.channels},
	} {
		say("\n%s", way.says)
		results, err := c.runJobs(ctx, way.program, way.names)
		if err != nil {
			return err
		}
		*way.results = results
	}
	switches, err := c.switchMetrics(ctx)
	if err != nil {
		return err
	}
	say("\nThe first two at the same time, without coordination (mpiexec, plain Linux time sharing):")
	if w.plain, err = runPlain(ctx, p); err != nil {
		return err
	}
	printTables(os.Stdout, w, switches)
	return nil
}

// cluster is a running `scored dev`.
type cluster struct {
	*devcluster.Dev
}

func start(ctx context.Context, work string) (*cluster, error) {
	say("$ scored dev --nodes %d", nodes)
	dev, err := devcluster.Start(ctx, devcluster.Options{Scored: "bin/scored", Socket: filepath.Join(work, "scored.sock"), Nodes: nodes})
	if err != nil {
		return nil, fmt.Errorf("%w (run make build first)", err)
	}
	c := &cluster{Dev: dev}
	say("$ scored config set slice %s", slice)
	out, err := c.command(ctx, "bin/scored", "config", "set", "slice", slice).CombinedOutput()
	if err != nil {
		c.stop()
		return nil, fmt.Errorf("scored config set: %w: %s", err, out)
	}
	return c, nil
}

func (c *cluster) stop() {
	if err := c.Stop(); err != nil {
		say("%v", err)
	}
}

func (c *cluster) command(ctx context.Context, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), "SCORE_SOCKET="+c.Socket)
	return cmd
}

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }
