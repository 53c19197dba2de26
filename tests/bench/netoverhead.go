package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"score/pm/local"
	"score/tests/bench/messages"
	"strconv"
	"time"
)

const (
	// overheadRun is about how long one of the two programs takes alone.
	overheadRun = 2500 * time.Millisecond
	// overheadRuns is how often each is measured; with -runs of seven the group would take ten
	// minutes.
	overheadRuns = 5
	// overheadTrial is the number of rounds that are timed to find out how many fit.
	overheadTrial = 50_000
	// uncoordinatedPart of the rounds are enough where programs disturb each other: they may take
	// long.
	uncoordinatedPart = 5
	// uncoordinatedLimit ends a run that does not get on.
	uncoordinatedLimit = time.Minute
)

// overheadCases are the slices, and what two programs may cost beside running one after the other:
// as they are, and with more channels than fit, so that each switch flushes, saves and loads.
var overheadCases = []struct {
	name   string
	slice  time.Duration
	scarce bool
	target target
}{
	{"slice_100ms", 100 * time.Millisecond, false, atMost("ratio", 1.005)},
	{"slice_10ms", 10 * time.Millisecond, false, atMost("ratio", 1.02)},
	{"slice_2ms", 2 * time.Millisecond, false, atMost("ratio", 1.10)},
	{"scarce_10ms", 10 * time.Millisecond, true, noTarget()},
}

// overheadOfSwitching runs two programs that do nothing but communicate, on two nodes: one after
// the other, and both at once with slices of several lengths, in turn.
func overheadOfSwitching(ctx context.Context, b *bench) error {
	c, err := startCluster(ctx, b, clusterOptions{nodes: 2})
	if err != nil {
		return err
	}
	defer c.stop()
	trial, err := c.rounds(ctx, overheadTrial, false, "")
	if err != nil {
		return err
	}
	rounds := int(overheadTrial * overheadRun.Seconds() / trial.seconds())
	mpi, err := newYardstick(ctx, c, b.work)
	if err != nil {
		return err
	}
	var apart []alone
	results := make([][]together, len(overheadCases))
	for range overheadRuns {
		a, err := inSequence(func(gate string) (progress, error) { return c.rounds(ctx, rounds, false, gate) })
		if err != nil {
			return err
		}
		apart = append(apart, a)
		if err := mpi.alone(ctx, c); err != nil {
			return err
		}
		for i, k := range overheadCases {
			if err := c.setSlice(ctx, k.slice); err != nil {
				return err
			}
			t, err := sideBySide(func(gate string) (progress, error) { return c.rounds(ctx, rounds, k.scarce, gate) })
			if err != nil {
				return err
			}
			results[i] = append(results[i], t)
			if err := mpi.beside(ctx, c, i); err != nil {
				return err
			}
		}
	}
	for i, k := range overheadCases {
		b.overhead("netswitch_overhead_"+k.name, results[i], apart, k.target)
	}
	mpi.figures(b, results, apart)
	return uncoordinatedRounds(ctx, b, rounds/uncoordinatedPart)
}

// overhead reports what two programs took together beside one after the other, and where it went:
// to rounds that were slower while a program was on, and to the time between their rounds at a
// switch. It returns the ratios.
func (r *report) overhead(name string, results []together, apart []alone, bound target) []float64 {
	var seconds, on, between, total, totalOn []float64
	for i, t := range results {
		seconds, on, between = append(seconds, t.seconds), append(on, t.on), append(between, t.between...)
		total, totalOn = append(total, apart[i].seconds), append(totalOn, apart[i].on)
	}
	r.pairWithSpread(name+"_vs_sequence", seconds, total, "s", bound)
	r.pairWithSpread(name+"_while_on", on, totalOn, "s", noTarget())
	r.single(name+"_between_rounds_median", median(between), "us", noTarget())
	r.single(name+"_between_rounds_p90", quantile(between, 0.9), "us", noTarget())
	return slowdowns(results, apart)
}

// rounds runs the program once, one rank on each of two nodes.
func (c *cluster) rounds(ctx context.Context, count int, scarce bool, gate string) (progress, error) {
	self, err := os.Executable()
	if err != nil {
		return progress{}, err
	}
	args := append(append([]string{"-N", "2", "-n", "2"}, asked(scarce)...), self, roundRank, strconv.Itoa(count), waiting)
	return progressOf(atGate(c.scrun(ctx, args...), gate))
}

// progressOf runs a job to its end.
func progressOf(cmd *exec.Cmd) (progress, error) {
	var out bytes.Buffer
	cmd.Stdout = &out
	if _, err := milliseconds(cmd); err != nil {
		return progress{}, err
	}
	return readProgress(&out)
}

// alone is how two jobs fared one after the other.
type alone struct {
	seconds float64 // both, without what lies between
	on      float64 // the same without pauses, which other programs of the machine make
}

func inSequence(run func(gate string) (progress, error)) (a alone, err error) {
	for range 2 {
		p, err := run("")
		if err != nil {
			return a, err
		}
		a.seconds, a.on = a.seconds+p.seconds(), a.on+p.on()
	}
	return a, nil
}

// sideBySide is how long two runs take that begin their work at the same time, until both have
// ended.
func sideBySide(run func(gate string) (progress, error)) (t together, err error) {
	gates, remove, err := newGates(2)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	var runs [2]progress
	var errs [2]error
	ended := []chan struct{}{make(chan struct{}), make(chan struct{})}
	for i, gate := range gates {
		go func() {
			defer close(ended[i])
			runs[i], errs[i] = run(gate)
		}()
	}
	openGates(gates, ended)
	for _, e := range ended {
		<-e
	}
	if err := firstError(errs[:]...); err != nil {
		return t, fmt.Errorf("side by side: %w", err)
	}
	a, z := runs[0], runs[1]
	return together{
		seconds: span{min(a.from, z.from), max(a.to, z.to)}.seconds(),
		on:      a.on() + z.on(),
		between: append(between(a, z), between(z, a)...),
	}, nil
}

// bothWays runs two jobs one after the other and at once, in turn.
func bothWays(run func(gate string) (progress, error)) (beside []together, apart []alone, err error) {
	for range overheadRuns {
		a, err := inSequence(run)
		if err != nil {
			return nil, nil, err
		}
		t, err := sideBySide(run)
		if err != nil {
			return nil, nil, err
		}
		beside, apart = append(beside, t), append(apart, a)
	}
	return beside, apart, nil
}

// together is how two jobs fared that took turns.
type together struct {
	seconds float64   // from the first that worked to the last
	on      float64   // seconds in which either was on, by its own account
	between []float64 // microseconds from the last round of one to the first of the other, by switch
}

// on is how long the job was on: its time without the gaps.
func (p *progress) on() float64 {
	on := p.seconds()
	for _, gap := range p.gaps {
		on -= gap.seconds()
	}
	return on
}

// between are the microseconds from each last round of one job before a gap to the first of the
// other after its own, if the two gaps meet in one switch: what programs lose by it.
func between(going, coming progress) (micros []float64) {
	for _, gap := range going.gaps {
		for _, other := range coming.gaps {
			if other.from < gap.from && gap.from < other.to && other.to < gap.to {
				micros = append(micros, float64(other.to-gap.from)/1e3)
			}
		}
	}
	return micros
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// uncoordinatedRounds shows what becomes of two such programs whose ranks run on the same two CPUs
// as Linux likes: once as the library waits, which gives the CPU away, and once spinning.
func uncoordinatedRounds(ctx context.Context, b *bench, count int) error {
	cpus, err := messages.CPUs()
	if err != nil {
		return err
	}
	for _, how := range []string{waiting, spinning} {
		run := func(gate string) (progress, error) { return localRounds(ctx, cpus[:], count, how, gate) }
		beside, apart, err := bothWays(run)
		if err != nil {
			return err
		}
		var seconds, total []float64
		for i := range beside {
			seconds, total = append(seconds, beside[i].seconds), append(total, apart[i].seconds)
		}
		b.pairWithSpread("netswitch_uncoordinated_"+how+"_vs_sequence", seconds, total, "s", noTarget())
	}
	return nil
}

// localRounds runs the program without a cluster, one rank on each of two CPUs that pass for nodes.
func localRounds(ctx context.Context, cpus []int, count int, how, gate string) (progress, error) {
	self, err := os.Executable()
	if err != nil {
		return progress{}, err
	}
	var out bytes.Buffer
	g, err := local.Start(local.Config{Ranks: 2, Nodes: 2, CPUs: cpus, Command: func(rank int) *exec.Cmd {
		cmd := atGate(exec.Command(self, roundRank, strconv.Itoa(count), how), gate)
		cmd.Stderr = os.Stderr
		if rank == 0 {
			cmd.Stdout = &out
		}
		return cmd
	}})
	if err != nil {
		return progress{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, uncoordinatedLimit)
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		for rank := range 2 {
			_ = g.Kill(rank) // it may have ended
		}
	})
	defer stop()
	if err := firstError(g.Wait(), ctx.Err(), g.Close()); err != nil {
		return progress{}, err
	}
	return readProgress(&out)
}
