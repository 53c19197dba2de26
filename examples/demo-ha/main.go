package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

const (
	// steadySteps make the first job outlast all failures.
	steadySteps = 60
	// againSteps make the second job short enough to run twice.
	againSteps = 10
	// patience bounds every wait of the demonstration.
	patience = 60 * time.Second
	// look is the interval between two checks.
	look = 50 * time.Millisecond
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := demo(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "demo-ha:", err)
		os.Exit(1)
	}
}

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func demo(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "ha-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c := newCluster(ctx, dir)
	defer func() { err = errors.Join(err, c.stop()) }()
	if err := c.start(); err != nil {
		return err
	}
	out, err := c.scored("server", "list")
	if err != nil {
		return err
	}
	say("\n$ scored server list\n%s", out)

	steady, err := c.scrun("steady", "-w", "n1", "-n", "1", "sh", "-c", program(steadySteps))
	if err != nil {
		return err
	}
	again, err := c.scrun("again", "--requeue", "-N", "2", "-n", "2", "sh", "-c", program(againSteps))
	if err != nil {
		return err
	}
	if err := c.await("both jobs run", func() bool { return c.jobState(steady) == "running" && c.jobState(again) == "running" }); err != nil {
		return err
	}
	if err := c.loseLeader(); err != nil {
		return err
	}
	if err := c.loseNode(again); err != nil {
		return err
	}
	for _, j := range []*job{again, steady} {
		if err := j.wait(); err != nil {
			return err
		}
	}
	out, err = c.scored("job", "list", "--all")
	if err != nil {
		return err
	}
	say("\n$ scored job list --all\n%s", out)
	return nil
}

// program counts, twice a second.
func program(steps int) string {
	return fmt.Sprintf("for i in $(seq %d); do echo rank $SCORE_RANK step $i; sleep 0.5; done", steps)
}

// loseLeader kills the leading server and prints how long the cluster did not answer.
func (c *cluster) loseLeader() error {
	leader, err := c.leader()
	if err != nil {
		return err
	}
	say("\n$ kill -9 ...    # server %s, which leads", leader)
	c.servers[leader].kill()
	c.ask(leader)
	killed := time.Now()
	if err := c.await("another server leads", func() bool { next, err := c.leader(); return err == nil && next != leader }); err != nil {
		return err
	}
	next, err := c.leader()
	say("%s leads, and has answered after %.1f s; scrun is attached as before", next, time.Since(killed).Seconds())
	return err
}

// loseNode kills the agent of a node of the job, for good.
func (c *cluster) loseNode(j *job) error {
	out, err := c.scored("job", "show", j.id)
	if err != nil {
		return err
	}
	for _, node := range []string{"n3", "n2"} {
		if !strings.Contains(out, "on "+node+" ") {
			continue
		}
		say("\n$ kill -9 ...    # the agent of node %s, on which job %q runs", node, j.name)
		c.agents[node].kill()
		return nil
	}
	return fmt.Errorf("job %s runs on no node that may be lost:\n%s", j.id, out)
}
