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
	// workTrial is so many rounds, each with workTrialSteps of work, that their time tells how long
	// a step takes.
	workTrial, workTrialSteps = 2_000, 50_000
)

// fabricSwitchCase is a slice, and what two jobs at once may cost of one after the other.
type fabricSwitchCase struct {
	slice    time.Duration
	maxRatio float64
}

// fabricSwitchKinds are jobs that only exchange, and those that compute between exchanges.
var fabricSwitchKinds = []struct {
	name  string
	work  time.Duration
	run   time.Duration
	cases []fabricSwitchCase
}{
	{"two_jobs", 0, overheadRun, []fabricSwitchCase{{fabricSlice, 1.02}}},
	{"two_jobs_work_100us", fabricWork, workRun, []fabricSwitchCase{
		{100 * time.Millisecond, 1.01}, {10 * time.Millisecond, 1.02}, {2 * time.Millisecond, 1.10},
	}},
}

// fabricSwitch runs two programs that add up numbers, at once and one after the other, over the
// provider and over TCP.
func fabricSwitch(ctx context.Context, b *bench, c *cluster, p *fabricPrograms) error {
	for _, kind := range fabricSwitchKinds {
		var slower [2][][]float64 // by case
		for i, provider := range []bool{true, false} {
			j := p.job(p.allreduce, provider, "-N", "2", "-n", "2")
			run := func(rounds, steps int, gate string) (progress, error) {
				return progressOf(atGate(j.command(ctx, c, strconv.Itoa(rounds), strconv.Itoa(steps)), gate))
			}
			steps, rounds, err := workOf(run, kind.work, kind.run)
			if err != nil {
				return err
			}
			beside, apart, err := c.sharedRuns(ctx, kind.cases, func(gate string) (progress, error) { return run(rounds, steps, gate) })
			if err != nil {
				return err
			}
			for n, k := range kind.cases {
				name, bound := "fabric_"+kind.name+"_slice_"+k.slice.String(), atMost("ratio", k.maxRatio)
				if !provider {
					name, bound = "fabric_"+kind.name+"_tcp_slice_"+k.slice.String(), noTarget()
				}
				slower[i] = append(slower[i], b.overhead(name, beside[n], apart, bound))
			}
		}
		for n, k := range kind.cases {
			b.pairWithSpread("fabric_"+kind.name+"_slice_"+k.slice.String()+"_beside_tcp", slower[0][n], slower[1][n], "", atMost("ratio", 1))
		}
	}
	return nil
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
	cases []fabricSwitchCase,
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
