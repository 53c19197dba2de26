package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"score/tests/bench/ledger"
	"slices"
	"strconv"
	"time"
)

const (
	// ledgerLength is how long each case is traced.
	ledgerLength = 2 * time.Second
	// ledgerSettle is how long two jobs run before: their ranks know each other by then.
	ledgerSettle = time.Second
	// daemonsTarget is for all threads of a node's daemons, for each switch.
	daemonsTarget = 100.0 // microseconds
)

// ledgerSlices are the slices that are measured.
var ledgerSlices = []time.Duration{100 * time.Millisecond, 10 * time.Millisecond, 2 * time.Millisecond}

// program is what both gangs of a case run.
type program struct {
	name    string
	options []string // of scrun
	line    []string
	target  target // for the daemons' time
}

// ledgerGroup measures which threads use a node's CPU in a slice, while two gangs that do nothing
// but communicate take turns on two nodes: programs with channels that fit, with channels that do
// not, and Open MPI over the kernel's TCP.
func ledgerGroup(ctx context.Context, b *bench) error {
	c, err := startCluster(ctx, b, clusterOptions{nodes: 2})
	if err != nil {
		return err
	}
	defer c.stop()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	mpi := filepath.Join(b.work, "allreduce")
	if err := compileC(ctx, "mpicc.openmpi", mpi, "tests/bench/testdata/allreduce.c"); err != nil {
		return err
	}
	rounds := []string{self, roundRank, strconv.Itoa(forever), waiting}
	for _, slice := range ledgerSlices {
		if err := c.setSlice(ctx, slice); err != nil {
			return err
		}
		for _, p := range []program{
			{"channels", nil, rounds, atMost("value", daemonsTarget)},
			{"scarce", asked(true), rounds, noTarget()},
			{"openmpi_tcp", nil, []string{mpi, strconv.Itoa(forever)}, noTarget()},
		} {
			a, err := c.traced(ctx, p)
			if errors.Is(err, ledger.ErrNoTrace) {
				b.note("skipped: %v", err)
				return nil
			}
			if err != nil {
				return err
			}
			a.figures(b, fmt.Sprintf("ledger_%s_%v", p.name, slice), slice, p.target)
		}
	}
	return nil
}

// traced has two jobs of a program take turns, and traces which threads run.
func (c *cluster) traced(ctx context.Context, p program) (_ *account, err error) {
	var ids []uint64
	defer func() { err = errors.Join(err, c.endAll(ctx, ids)) }()
	for range 2 {
		id, err := c.submitIn(ctx, overTCP, slices.Concat([]string{"-N", "2", "-n", "2"}, p.options, p.line)...)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(ledgerSettle):
	}
	roles, err := c.roles(p.line[0])
	if err != nil {
		return nil, err
	}
	l, err := ledger.Trace(ctx, ledgerLength)
	if err != nil {
		return nil, err
	}
	return newAccount(l, roles), nil
}

// endAll cancels jobs and waits until none runs.
func (c *cluster) endAll(ctx context.Context, ids []uint64) error {
	if err := c.cancel(ctx, ids...); err != nil {
		return err
	}
	return waitFor(ctx, 10*time.Second, func() bool { return c.runs(ctx, 0) })
}
