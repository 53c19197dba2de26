package main

import (
	"context"
	"path/filepath"
	"strconv"
	"time"
)

const (
	// yardstickSlice is the longest slice at which it is measured: with longer ones nothing is lost
	// that can be measured.
	yardstickSlice = 10 * time.Millisecond
	// yardstickTrial is the number of rounds that are timed to find out how many fit.
	yardstickTrial = 20_000
)

// overTCP has Open MPI use TCP alone.
var overTCP = []string{"OMPI_MCA_pml=ob1", "OMPI_MCA_btl=tcp,self"}

// yardstick is what two programs lose that leave their network to the kernel: unmodified Open MPI
// over TCP, which does nothing but add up 8 bytes. Channels that cost more are worth nothing.
type yardstick struct {
	program string
	rounds  int
	apart   []alone
	results [][]together // by overheadCases; none where it is not measured
}

func newYardstick(ctx context.Context, c *cluster, work string) (*yardstick, error) {
	y := &yardstick{program: filepath.Join(work, "allreduce"), results: make([][]together, len(overheadCases))}
	if err := compileC(ctx, "mpicc.openmpi", y.program, "tests/bench/testdata/allreduce.c"); err != nil {
		return nil, err
	}
	trial, err := y.run(ctx, c, yardstickTrial, "")
	y.rounds = int(yardstickTrial * overheadRun.Seconds() / trial.seconds())
	return y, err
}

// run runs the program once, one rank on each of two nodes.
func (y *yardstick) run(ctx context.Context, c *cluster, rounds int, gate string) (progress, error) {
	cmd := c.scrun(ctx, "-N", "2", "-n", "2", y.program, strconv.Itoa(rounds))
	cmd.Env = append(cmd.Env, overTCP...)
	return progressOf(atGate(cmd, gate))
}

// alone runs two programs one after the other.
func (y *yardstick) alone(ctx context.Context, c *cluster) error {
	a, err := inSequence(func(gate string) (progress, error) { return y.run(ctx, c, y.rounds, gate) })
	y.apart = append(y.apart, a)
	return err
}

// beside runs two at once, with the slices of a case.
func (y *yardstick) beside(ctx context.Context, c *cluster, i int) error {
	if k := overheadCases[i]; k.scarce || k.slice > yardstickSlice {
		return nil
	}
	t, err := sideBySide(func(gate string) (progress, error) { return y.run(ctx, c, y.rounds, gate) })
	y.results[i] = append(y.results[i], t)
	return err
}

// figures tells what they lose, and what programs with channels lose beside that.
func (y *yardstick) figures(b *bench, results [][]together, apart []alone) {
	for i, k := range overheadCases {
		if len(y.results[i]) == 0 {
			continue
		}
		theirs := b.overhead("netswitch_openmpi_tcp_"+k.name, y.results[i], y.apart, noTarget())
		ours := slowdowns(results[i], apart)
		b.pairWithSpread("netswitch_overhead_"+k.name+"_beside_openmpi_tcp", ours, theirs, "", atMost("ratio", 1))
	}
}

// slowdowns is what each pair of programs took together, as parts of what it took one after the
// other.
func slowdowns(results []together, apart []alone) (ratios []float64) {
	for i, t := range results {
		ratios = append(ratios, t.seconds/apart[i].seconds)
	}
	return ratios
}
