package main

import (
	"context"
	"strconv"
	"time"
)

const (
	// fabricWork is what ranks compute between two exchanges.
	fabricWork = 100 * time.Microsecond
	// workRun is about how long a program that also computes takes alone: 15 of the longest slices.
	workRun = 1500 * time.Millisecond
	// workTrial is a number of rounds, each with workTrialSteps of work, that is long enough to
	// measure how long a step takes.
	workTrial, workTrialSteps = 2_000, 50_000
)

// sliceCase is a slice, and what two jobs at once may cost of one after the other.
type sliceCase struct {
	slice    time.Duration
	maxRatio float64
}

// fabricSwitchKind is a kind of job.
type fabricSwitchKind struct {
	name  string
	work  time.Duration // between exchanges
	run   time.Duration // about how long it takes alone
	cases []sliceCase
}

// fabricSwitchKinds are jobs that only exchange, and those that compute between exchanges.
var fabricSwitchKinds = []fabricSwitchKind{
	{"two_jobs", 0, overheadRun, []sliceCase{{fabricSlice, 1.02}}},
	{"two_jobs_work_100us", fabricWork, workRun, []sliceCase{
		{100 * time.Millisecond, 1.01}, {10 * time.Millisecond, 1.02}, {2 * time.Millisecond, 1.10},
	}},
}

// fabricSwitch runs two programs that add up numbers, at once and one after the other, over the
// provider and over TCP.
func fabricSwitch(ctx context.Context, b *bench, c *cluster, p *fabricPrograms) error {
	for _, kind := range fabricSwitchKinds {
		ours, err := kind.measure(ctx, b, c, p, true)
		if err != nil {
			return err
		}
		theirs, err := kind.measure(ctx, b, c, p, false)
		if err != nil {
			return err
		}
		for i, k := range kind.cases {
			b.pairWithSpread("fabric_"+kind.name+"_slice_"+k.slice.String()+"_beside_tcp", ours[i], theirs[i], "", atMost("ratio", 1))
		}
	}
	return nil
}

// measure runs two jobs of the kind, and returns what they lose at once, by case and run.
func (k fabricSwitchKind) measure(ctx context.Context, b *bench, c *cluster, p *fabricPrograms, provider bool) (slower [][]float64, err error) {
	j := p.job(p.allreduce, provider, "-N", "2", "-n", "2")
	run := func(rounds, steps int, gate string) (progress, error) {
		return progressOf(atGate(j.command(ctx, c, strconv.Itoa(rounds), strconv.Itoa(steps)), gate))
	}
	steps, rounds, err := workOf(run, k.work, k.run)
	if err != nil {
		return nil, err
	}
	beside, apart, err := c.sharedRuns(ctx, k.cases, func(gate string) (progress, error) { return run(rounds, steps, gate) })
	if err != nil {
		return nil, err
	}
	for i, of := range k.cases {
		name, bound := "fabric_"+k.name+"_slice_"+of.slice.String(), atMost("ratio", of.maxRatio)
		if !provider {
			name, bound = "fabric_"+k.name+"_tcp_slice_"+of.slice.String(), noTarget()
		}
		slower = append(slower, b.overhead(name, beside[i], apart, bound))
	}
	return slower, nil
}

// workOf finds out how many steps of work take the time that is given, and how many rounds with
// them a program takes that runs so long.
func workOf(run func(rounds, steps int, gate string) (progress, error), work, length time.Duration) (steps, rounds int, err error) {
	bare, err := run(yardstickTrial, 0, "")
	if err != nil {
		return 0, 0, err
	}
	round := bare.seconds() / yardstickTrial
	if work > 0 {
		trial, err := run(workTrial, workTrialSteps, "")
		if err != nil {
			return 0, 0, err
		}
		step := (trial.seconds()/workTrial - round) / workTrialSteps
		steps = int(work.Seconds() / step)
	}
	return steps, int(length.Seconds() / (round + work.Seconds())), nil
}

// sharedRuns runs two programs one after the other, and at once with the slice of each case.
func (c *cluster) sharedRuns(
	ctx context.Context,
	cases []sliceCase,
	run func(gate string) (progress, error),
) (beside [][]together, apart []alone, err error) {
	beside = make([][]together, len(cases))
	for range overheadRuns {
		a, err := inSequence(run)
		if err != nil {
			return nil, nil, err
		}
		apart = append(apart, a)
		for n, k := range cases {
			if err := c.setSlice(ctx, k.slice); err != nil {
				return nil, nil, err
			}
			t, err := sideBySide(run)
			if err != nil {
				return nil, nil, err
			}
			beside[n] = append(beside[n], t)
		}
	}
	return beside, apart, nil
}
