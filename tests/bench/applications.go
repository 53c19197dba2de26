package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"score/tests/bench/messages"
	"strconv"
	"strings"
	"time"
)

// application is a program of Debian's that people run on clusters, built with Open MPI.
type application struct {
	name, program string
	args          []string
	input         string // a file of testdata, and of the directory where it runs
	result        string // what its output has if it computed what it should
	packages      string
}

// applications compute for some seconds on two CPUs, and exchange several thousand times a second.
var applications = []application{
	{
		name: "lammps", program: "lmp", args: []string{"-log", "none", "-in", "melt.lmp"}, input: "melt.lmp",
		result: "-4.6228467", packages: "lammps",
	},
	{
		name: "espresso", program: "pw.x", args: []string{"-in", "silicon.pw"}, input: "silicon.pw",
		result: "-63.4079", packages: "quantum-espresso quantum-espresso-data",
	},
}

// errWrongResult means that an application computed something else.
var errWrongResult = errors.New("the output lacks the result")

// applicationsGroup times whole runs of applications on two nodes: over channels, as scrun starts
// them by itself, over Open MPI's TCP, and by mpirun over TCP; alone, and two of them at once.
func applicationsGroup(ctx context.Context, b *bench) error {
	if packages := messages.OpenMPI().Missing(); packages != "" {
		skip(overOwn, packages)
		return nil
	}
	p, err := buildFabric(ctx, b)
	if err != nil || p.libraries == "" {
		return err
	}
	c, err := startCluster(ctx, b, clusterOptions{nodes: 2, slice: fabricSlice})
	if err != nil {
		return err
	}
	defer c.stop()
	for _, a := range applications {
		if _, err := exec.LookPath(a.program); err != nil {
			skip(a.name, a.packages)
			continue
		}
		if err := a.measure(ctx, b, c, p); err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
	}
	return nil
}

// measure runs the application in all ways in turn.
func (a *application) measure(ctx context.Context, b *bench, c *cluster, p *fabricPrograms) error {
	dirs, err := a.directories(b.work, 2)
	if err != nil {
		return err
	}
	two := []string{"-N", "2", "-n", "2"}
	ways := []func() *exec.Cmd{
		func() *exec.Cmd { return p.chosen(a.program, two...).command(ctx, c, a.args...) },
		func() *exec.Cmd { return p.job(a.program, false, two...).command(ctx, c, a.args...) },
		func() *exec.Cmd { return byMpirun(ctx, a.program, a.args) },
	}
	alone, both := make([][]float64, len(ways)), make([][]float64, len(ways))
	for round := -1; round < b.runs; round++ {
		for i, command := range ways {
			one, err := a.run(dirs[:1], command)
			if err != nil {
				return err
			}
			together, err := a.run(dirs, command)
			if err != nil {
				return err
			}
			if round >= 0 { // the first one warms up
				alone[i], both[i] = append(alone[i], one), append(both[i], together/2)
			}
		}
	}
	name := "applications_" + a.name
	b.pairWithSpread(name+"_vs_tcp", alone[0], alone[1], "s", noTarget())
	b.pairWithSpread(name+"_vs_mpirun", alone[0], alone[2], "s", noTarget())
	for i, way := range []string{"channels", "tcp", "mpirun"} {
		b.pairWithSpread(name+"_two_at_once_"+way+"_vs_sequence", both[i], alone[i], "s", noTarget())
	}
	return nil
}

// byMpirun starts a program on this machine's two CPUs with Open MPI's own launcher, over TCP.
func byMpirun(ctx context.Context, program string, args []string) *exec.Cmd {
	line := append([]string{"--allow-run-as-root", "--use-hwthread-cpus", "--bind-to", "hwthread", "-n", "2", program}, args...)
	cmd := exec.CommandContext(ctx, "mpirun.openmpi", line...)
	cmd.Env = append(cmd.Environ(), overTCP...)
	return cmd
}

// directories makes n directories with the input.
func (a *application) directories(below string, n int) (dirs []string, err error) {
	for i := range n {
		dir := filepath.Join(below, a.name+strconv.Itoa(i))
		if err := directoryWith(dir, filepath.Join("tests/bench/testdata", a.input)); err != nil {
			return nil, err
		}
		dirs = append(dirs, dir)
	}
	return dirs, nil
}

// run runs one in each directory at once, and returns how many seconds passed until the last one
// ended.
func (a *application) run(dirs []string, command func() *exec.Cmd) (float64, error) {
	ended := make(chan error, len(dirs))
	begin := time.Now()
	for _, dir := range dirs {
		cmd := command()
		cmd.Dir = dir
		go func() { ended <- a.check(cmd) }()
	}
	var failed error
	for range dirs {
		failed = errors.Join(failed, <-ended)
	}
	return time.Since(begin).Seconds(), failed
}

// check runs a command, and compares its result.
func (a *application) check(cmd *exec.Cmd) error {
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, firstLine(out))
	}
	if !strings.Contains(string(out), a.result) {
		return fmt.Errorf("%s: %w %s", strings.Join(cmd.Args, " "), errWrongResult, a.result)
	}
	return nil
}
