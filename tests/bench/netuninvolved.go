package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

const (
	// uninvolvedTarget: less than can be measured.
	uninvolvedTarget = 1.002
	// uninvolvedRun is about how long the job takes.
	uninvolvedRun = 3 * time.Second
	// uninvolvedRounds is how often its ranks exchange a number meanwhile.
	uninvolvedRounds = 3000
	// uninvolvedTrial is the number of loops between two rounds that are timed to find out how many
	// fit.
	uninvolvedTrial = 100_000
	// forever is more rounds than any run has time for.
	forever = 1 << 40
)

// uninvolvedJob measures a job whose nodes have no part in the switches of others: beside one gang,
// which needs no switching, and beside two that take turns. The halves of the cluster share no CPU,
// as machines do not, and all else runs on those of the gangs.
func uninvolvedJob(ctx context.Context, b *bench) (err error) {
	c, err := startCluster(ctx, b, clusterOptions{nodes: 4, slice: switchSlice})
	if err != nil {
		return err
	}
	defer c.stop()
	switching, apart := nodesApart(runtime.NumCPU())
	one, _, _ := strings.Cut(switching, ",")
	undo, err := c.pinNodes(one)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, undo()) }()
	b.note("uninvolved: gangs on %s, the job on %s, %d CPUs", switching, apart, runtime.NumCPU())
	first, err := c.exchanging(ctx, switching)
	if err != nil {
		return err
	}
	trial, err := c.steps(ctx, apart, uninvolvedTrial)
	if err != nil {
		return err
	}
	loops := int(uninvolvedTrial * uninvolvedRun.Seconds() / trial.seconds())
	var without, with []float64
	for range overheadRuns {
		s, err := c.steps(ctx, apart, loops)
		if err != nil {
			return err
		}
		second, err := c.exchanging(ctx, switching)
		if err != nil {
			return err
		}
		t, err := c.steps(ctx, apart, loops)
		if err != nil {
			return err
		}
		if err := c.cancel(ctx, second); err != nil {
			return err
		}
		if err := waitFor(ctx, 10*time.Second, func() bool { return c.runs(ctx, 1) }); err != nil {
			return fmt.Errorf("the second gang does not end: %w", err)
		}
		without, with = append(without, s.seconds()), append(with, t.seconds())
	}
	b.pairWithSpread("netswitch_uninvolved_job", with, without, "s", atMost("ratio", uninvolvedTarget))
	return c.cancel(ctx, first)
}

// nodesApart divides the four nodes of a cluster so that the two halves share no CPU. Where
// there are fewer CPUs than nodes, `scored dev` gives them out in turn.
func nodesApart(cpus int) (switching, apart string) {
	if cpus >= 4 {
		return "n1,n2", "n3,n4"
	}
	return "n1,n3", "n2,n4"
}

// exchanging starts a gang that exchanges messages until it is cancelled, and waits until it runs.
func (c *cluster) exchanging(ctx context.Context, nodes string) (id uint64, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	id, err = c.submit(ctx, append(onNodes(nodes), self, roundRank, strconv.Itoa(forever), waiting)...)
	if err != nil {
		return 0, err
	}
	return id, waitFor(ctx, 10*time.Second, func() bool { return c.jobRuns(ctx, id) })
}

// steps runs the job once.
func (c *cluster) steps(ctx context.Context, nodes string, loops int) (progress, error) {
	self, err := os.Executable()
	if err != nil {
		return progress{}, err
	}
	return progressOf(c.scrun(ctx, append(onNodes(nodes), self, stepRank, strconv.Itoa(uninvolvedRounds), strconv.Itoa(loops))...))
}

// onNodes asks for one rank on each of the nodes.
func onNodes(nodes string) []string {
	n := strconv.Itoa(1 + strings.Count(nodes, ","))
	return []string{"-w", nodes, "-N", n, "-n", n}
}
