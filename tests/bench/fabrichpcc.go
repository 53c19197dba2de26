package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// hpccFigure is a network test of HPC Challenge.
type hpccFigure struct {
	name, line string // of the figure, and of the line in hpcc's output
	unit       string
	target     target
}

// hpccFigures are those that ranks measure together; each is to be better than over TCP.
var hpccFigures = []hpccFigure{
	{"pingpong_latency", "AvgPingPongLatency_usec", "us", atMost("ratio", 1)},
	{"pingpong_bandwidth", "AvgPingPongBandwidth_GBytes", "GB/s", atLeast("ratio", 1)},
	{"natural_ring_latency", "NaturallyOrderedRingLatency_usec", "us", atMost("ratio", 1)},
	{"natural_ring_bandwidth", "NaturallyOrderedRingBandwidth_GBytes", "GB/s", atLeast("ratio", 1)},
	{"random_ring_latency", "RandomlyOrderedRingLatency_usec", "us", atMost("ratio", 1)},
	{"random_ring_bandwidth", "RandomlyOrderedRingBandwidth_GBytes", "GB/s", atLeast("ratio", 1)},
	{"ptrans", "PTRANS_GBs", "GB/s", atLeast("ratio", 1)},
	{"random_access", "MPIRandomAccess_GUPs", "GUP/s", atLeast("ratio", 1)},
	{"fft", "MPIFFT_Gflops", "Gflop/s", atLeast("ratio", 1)},
}

const (
	hpccProgram = "/usr/bin/hpcc"                    // Debian's, built with Open MPI
	hpccOutput  = "hpccoutf.txt"                     // hpcc writes it where it runs
	hpccInput   = "tests/bench/testdata/hpccinf.txt" // small problems, on a grid of 1 x 2 ranks
	hpccEnd     = "End of Summary section."          // after the results
)

// errHPCC means that hpcc did not end well or that its output has no such line.
var errHPCC = errors.New("hpcc: no result")

// fabricHPCC runs HPC Challenge over the provider and over TCP in turns.
func fabricHPCC(ctx context.Context, b *bench, c *cluster, p *fabricPrograms) error {
	if _, err := os.Stat(hpccProgram); err != nil {
		skip("hpcc", "hpcc")
		return nil
	}
	var results [2][]map[string]float64
	for round := range b.runs {
		for i, provider := range []bool{true, false} {
			dir := filepath.Join(b.work, fmt.Sprintf("hpcc-%d-%t", round, provider))
			of, err := runHPCC(p.job(hpccProgram, provider, "-N", "2", "-n", "2").command(ctx, c), dir)
			if err != nil {
				return err
			}
			results[i] = append(results[i], of)
		}
	}
	for _, f := range hpccFigures {
		b.pairWithSpread("fabric_hpcc_"+f.name+"_vs_tcp", column(results[0], f.line), column(results[1], f.line), f.unit, f.target)
	}
	return nil
}

func column(results []map[string]float64, line string) (values []float64) {
	for _, of := range results {
		values = append(values, of[line])
	}
	return values
}

// runHPCC runs hpcc in a directory of its own and returns its results by name.
func runHPCC(cmd *exec.Cmd, dir string) (map[string]float64, error) {
	if err := directoryWith(dir, hpccInput); err != nil {
		return nil, err
	}
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, out)
	}
	out, err := os.ReadFile(filepath.Join(dir, hpccOutput))
	if err != nil {
		return nil, err
	}
	return parseHPCC(string(out))
}

// directoryWith makes a directory with a copy of the input.
func directoryWith(dir, input string) error {
	data, err := os.ReadFile(input)
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, filepath.Base(input)), data, 0o644)
}

// parseHPCC reads the summary, lines of NAME=VALUE. All of hpccFigures are there and above zero,
// and hpcc found its own results right.
func parseHPCC(out string) (map[string]float64, error) {
	values := map[string]float64{}
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if x, err := strconv.ParseFloat(value, 64); err == nil {
			values[name] = x
		}
	}
	if values["Success"] != 1 || !strings.Contains(out, hpccEnd) {
		return nil, fmt.Errorf("%w: it did not end with success", errHPCC)
	}
	for _, f := range hpccFigures {
		if values[f.line] <= 0 {
			return nil, fmt.Errorf("%w: %s", errHPCC, f.line)
		}
	}
	return values, nil
}
