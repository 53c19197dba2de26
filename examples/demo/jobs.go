package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"score/scored/api/scorev1"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
)

// result is the result of one program.
type result struct {
	name    string
	elapsed time.Duration
	cpu     time.Duration // of the command and all it waited for; scrun's own is no rank's
	job     *scorev1.Job  // nil for a program that mpiexec ran
}

// runJobs runs one program per name at the same time and waits for all.
func (c *cluster) runJobs(ctx context.Context, p program, names []string) ([]result, error) {
	return atOnce(names, func(name string, out io.Writer) (result, error) {
		options := append([]string{"-N", fmt.Sprint(nodes), "-n", fmt.Sprint(nodes), "-J", name}, p.options...)
		say("$ scrun %s ./%s %d %d %s", strings.Join(options, " "), filepath.Base(p.path), grainMicros, soloSteps, name)
		cmd := c.command(ctx, "bin/scrun", append(options, p.args(name)...)...)
		cmd.Env = append(p.env, "SCORE_SOCKET="+c.Socket)
		r, err := timed(cmd, name, out)
		if err != nil {
			return r, err
		}
		r.job, err = c.newestJob(ctx, name)
		return r, err
	})
}

// newestJob returns the latest finished job with the name.
func (c *cluster) newestJob(ctx context.Context, name string) (*scorev1.Job, error) {
	var newest *scorev1.Job
	for j, err := range c.ListJobs(ctx, &scorev1.ListJobsRequest{All: true}) {
		if err != nil {
			return nil, err
		}
		if j.GetSpec().GetName() == name && j.GetId() >= newest.GetId() {
			newest = j
		}
	}
	if newest == nil {
		return nil, fmt.Errorf("the cluster knows no job %q", name)
	}
	return newest, nil
}

func (c *cluster) switchMetrics(ctx context.Context) (*scorev1.SwitchMetricsResponse, error) {
	reply, err := c.Cluster.SwitchMetrics(ctx, connect.NewRequest(&scorev1.SwitchMetricsRequest{}))
	if err != nil {
		return nil, err
	}
	return reply.Msg, nil
}

// runPlain starts the two programs with mpiexec, a rank of each on each CPU.
func runPlain(ctx context.Context, p program) ([]result, error) {
	return atOnce(names, func(name string, out io.Writer) (result, error) {
		say("$ mpiexec -n %d ./bsp %d %d %s", nodes, grainMicros, soloSteps, name)
		cmd := exec.CommandContext(ctx, "mpiexec.hydra", append([]string{"-bind-to", "user:0,1", "-n", fmt.Sprint(nodes)}, p.args(name)...)...)
		cmd.Env = p.env
		return timed(cmd, name, out)
	})
}

// atOnce runs f for every name at the same time.
func atOnce(names []string, f func(name string, out io.Writer) (result, error)) ([]result, error) {
	results, errs := make([]result, len(names)), make([]error, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { results[i], errs[i] = f(name, progress{}) })
	}
	all.Wait()
	return results, errors.Join(errs...)
}

func timed(cmd *exec.Cmd, name string, out io.Writer) (result, error) {
	var stderr strings.Builder
	cmd.Stdout, cmd.Stderr = out, &stderr
	begin := time.Now()
	err := cmd.Run()
	r := result{name: name, elapsed: time.Since(begin)}
	if s := cmd.ProcessState; s != nil {
		r.cpu = s.UserTime() + s.SystemTime()
	}
	if err != nil {
		return r, fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(stderr.String()))
	}
	return r, nil
}

// progress prints a program's lines, indented. Each Write is whole lines,
// since the programs flush after each.
type progress struct{}

func (progress) Write(data []byte) (int, error) {
	for s := bufio.NewScanner(strings.NewReader(string(data))); s.Scan(); {
		say("    %s", s.Text())
	}
	return len(data), nil
}
