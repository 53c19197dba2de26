package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"score/tests/bench/messages"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What Open MPI over the provider may cost, relative to the same over its own transports.
const (
	fabricLatencyTarget   = 0.8 // between nodes
	fabricRateTarget      = 2.0
	fabricBandwidthTarget = 1.0
	fabricInsideTarget    = 1.05 // inside a node
	fabricStartTarget     = 1.05
	fabricMemoryTarget    = 8.0 // MB
	fabricThreadsTarget   = 8.0
)

const (
	// fabricAllreduces is the number of calls in one piece of a measurement.
	fabricAllreduces = 200
	fabricSlice      = 10 * time.Millisecond
)

// middleSizes are those of many programs, which MPI libraries send without asking for room.
var middleSizes = []int{4 << 10, 16 << 10, 48 << 10}

// Contestants of the group.
const (
	overProvider = "openmpi over the provider"
	overOwn      = "openmpi" // over its own TCP and shared memory
	overChosen   = "openmpi as auto chooses"
)

// fabricPrograms are what all contestants run.
type fabricPrograms struct {
	openmpi, mpich       string // messages.c
	hello, footprint     string // with Open MPI
	allreduce, libraries string // libraries: their directory
}

// fabricGroup compares an Open MPI program over the provider with the same over its own transports.
func fabricGroup(ctx context.Context, b *bench) error {
	if packages := messages.OpenMPI().Missing(); packages != "" {
		skip(overOwn, packages)
		return nil
	}
	p, err := buildFabric(ctx, b)
	if err != nil {
		return err
	}
	if p.libraries == "" {
		return nil
	}
	if err := fabricInside(ctx, b, p); err != nil {
		return err
	}
	c, err := startCluster(ctx, b, clusterOptions{nodes: 2, slice: fabricSlice})
	if err != nil {
		return err
	}
	defer c.stop()
	for _, part := range []func(context.Context, *bench, *cluster, *fabricPrograms) error{
		fabricBetween, fabricHPCC, fabricStart, fabricFootprint, fabricSwitch,
	} {
		if err := part(ctx, b, c, p); err != nil {
			return err
		}
	}
	return nil
}

func buildFabric(ctx context.Context, b *bench) (*fabricPrograms, error) {
	p := &fabricPrograms{}
	for _, of := range []struct {
		binary           *string
		compiler, source string
	}{
		{&p.openmpi, "mpicc.openmpi", "tests/bench/messages/testdata/messages.c"},
		{&p.hello, "mpicc.openmpi", "tests/bench/testdata/mpihello.c"},
		{&p.footprint, "mpicc.openmpi", "tests/bench/testdata/footprint.c"},
		{&p.allreduce, "mpicc.openmpi", "tests/bench/testdata/allreduce.c"},
		{&p.mpich, "mpicc.mpich", "tests/bench/messages/testdata/messages.c"},
	} {
		name := strings.TrimSuffix(filepath.Base(of.source), ".c")
		*of.binary = filepath.Join(b.work, "fabric-"+name+strings.TrimPrefix(of.compiler, "mpicc"))
		if err := compileC(ctx, of.compiler, *of.binary, of.source); err != nil {
			if of.compiler != "mpicc.mpich" {
				return nil, err
			}
			*of.binary = ""
			skip("mpich", messages.MPICH().Missing())
		}
	}
	cmd := exec.CommandContext(ctx, "pm/lib/build", filepath.Join(b.work, "lib"))
	if out, err := cmd.CombinedOutput(); err != nil {
		b.note("skipped: the libraries cannot be built (apt-get install libfabric-dev): %s", firstLine(out))
		return p, nil
	}
	p.libraries = filepath.Join(b.work, "lib")
	return p, nil
}

func firstLine(out []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(out), []byte{'\n'})
	return string(line)
}

// fabricJob is a program with its environment as scrun starts it.
type fabricJob struct {
	options []string // of scrun
	env     []string
	program string
}

func (p *fabricPrograms) job(program string, provider bool, options ...string) fabricJob {
	if !provider {
		return fabricJob{options: options, env: overTCP, program: program}
	}
	return fabricJob{append([]string{"--fabric", "pm"}, options...), []string{"SCORE_FABRIC_DIR=" + p.libraries}, program}
}

// chosen is a program with what scrun chooses for it.
func (p *fabricPrograms) chosen(program string, options ...string) fabricJob {
	return fabricJob{append([]string{"--fabric", "auto"}, options...), []string{"SCORE_FABRIC_DIR=" + p.libraries}, program}
}

func (j fabricJob) command(ctx context.Context, c *cluster, args ...string) *exec.Cmd {
	cmd := c.scrun(ctx, append(append(append([]string{}, j.options...), j.program), args...)...)
	cmd.Env = append(cmd.Env, j.env...)
	return cmd
}

// contestant measures plans with the job. cpus are the processors of the ranks.
func (j fabricJob) contestant(name string, c *cluster, path messages.Path, cpus [2]int) contestant {
	return contestant{name, []messages.Path{path}, func(ctx context.Context, _ messages.Path, plan messages.Plan) (messages.Curve, error) {
		cmd := j.command(ctx, c, plan.String(), strconv.Itoa(cpus[0]), strconv.Itoa(cpus[1]), strconv.Itoa(fabricAllreduces))
		var out bytes.Buffer
		cmd.Stdout = &out
		if _, err := milliseconds(cmd); err != nil {
			return messages.Curve{}, err
		}
		return messages.ParseCurve(out.String())
	}}
}

// where is what a rank is told that runs on the CPU that its node gave it.
var where = [2]int{-1, -1}

// fabricBetween measures between two nodes.
func fabricBetween(ctx context.Context, b *bench, c *cluster, p *fabricPrograms) error {
	two := []string{"-N", "2", "-n", "2"}
	all := []contestant{
		p.job(p.openmpi, true, two...).contestant(overProvider, c, messages.UDP, where),
		p.job(p.openmpi, false, two...).contestant(overOwn, c, messages.UDP, where),
	}
	if p.mpich != "" {
		mpich := fabricJob{two, []string{"MPIR_CVAR_NOLOCAL=1", "UCX_TLS=tcp,self"}, p.mpich}
		all = append(all, mpich.contestant("mpich", c, messages.UDP, where))
	}
	s, err := fabricRuns(ctx, b, messages.UDP, all)
	if err != nil {
		return err
	}
	fabricFigures(b, "between", s[overProvider], s, fabricTargets{
		latency: atMost("ratio", fabricLatencyTarget), rate: atLeast("ratio", fabricRateTarget),
		bandwidth: atLeast("ratio", fabricBandwidthTarget),
	})
	return nil
}

// fabricInside measures inside a node.
func fabricInside(ctx context.Context, b *bench, p *fabricPrograms) error {
	cpus, err := messages.CPUs()
	if err != nil {
		return err
	}
	c, err := startCluster(ctx, b, clusterOptions{nodes: 1})
	if err != nil {
		return err
	}
	defer c.stop()
	one := []string{"-N", "1", "-n", "2"}
	own := p.job(p.openmpi, false, one...)
	own.env = []string{"OMPI_MCA_pml=ob1", "OMPI_MCA_btl=vader,self"}
	all := []contestant{
		p.job(p.openmpi, true, one...).contestant(overProvider, c, messages.Shm, cpus),
		p.chosen(p.openmpi, one...).contestant(overChosen, c, messages.Shm, cpus),
		own.contestant(overOwn, c, messages.Shm, cpus),
	}
	if p.mpich != "" {
		all = append(all, fabricJob{one, nil, p.mpich}.contestant("mpich", c, messages.Shm, cpus))
	}
	s, err := fabricRuns(ctx, b, messages.Shm, all)
	if err != nil {
		return err
	}
	fabricFigures(b, "inside", s[overProvider], s, fabricTargets{})
	chosen, theirs := s[overChosen], runsOf{overOwn: s[overOwn]}
	fabricFigures(b, "inside_auto", chosen, theirs, fabricTargets{
		latency: atMost("ratio", fabricInsideTarget), bandwidth: atLeast("ratio", 1/fabricInsideTarget),
	})
	return nil
}

// fabricRuns lets the contestants and UCX measure in turns.
func fabricRuns(ctx context.Context, b *bench, path messages.Path, all []contestant) (runsOf, error) {
	peer := messages.UCX{Dir: b.work, Copy: true}
	if packages := peer.Missing(); packages == "" {
		all = append(all, contestant{ucx, bothPaths, peer.Measure})
	} else {
		skip(ucx, packages)
	}
	return stackRuns(ctx, path, all, slices.Concat([]int{8}, middleSizes, longSizes), b.runs, stackPieces)
}

// fabricTargets are those against Open MPI's own transports.
type fabricTargets struct{ latency, rate, bandwidth target }

// fabricFigures reports our curves beside each peer's.
func fabricFigures(b *bench, where string, mine []messages.Curve, peers runsOf, t fabricTargets) {
	for _, peer := range []string{overOwn, "mpich", ucx} {
		theirs := peers[peer]
		if len(theirs) == 0 {
			continue
		}
		if peer != overOwn {
			t = fabricTargets{}
		}
		pair := func(what, unit string, of func(messages.Curve) float64, t target) {
			b.pair(fmt.Sprintf("fabric_%s_%s_vs_%s", where, what, peer), values(mine, of), values(theirs, of), unit, t)
		}
		pair("latency_8", "us", latency(8), t.latency)
		pair("rate_8", "M/s", rate, t.rate)
		for _, size := range middleSizes {
			pair("latency_"+fmt.Sprint(size>>10)+"k", "us", latency(size), noTarget())
		}
		for _, size := range longSizes {
			label := fmt.Sprint(size>>10) + "k"
			pair("bandwidth_"+label, "GB/s", bandwidth(size), t.bandwidth)
			pair("latency_"+label, "us", latency(size), noTarget())
		}
		if peer != ucx { // it has no collective operations
			pair("allreduce_8", "us", func(c messages.Curve) float64 { return c.Allreduce / 1e3 }, noTarget())
		}
	}
}

// fabricStart times a program that says hello.
func fabricStart(ctx context.Context, b *bench, c *cluster, p *fabricPrograms) error {
	for _, n := range []int{4, 16} {
		many := []string{"--oversubscribe", "-N", "2", "-n", strconv.Itoa(n)}
		times, err := alternate(b.runs,
			func() *exec.Cmd { return p.job(p.hello, true, many...).command(ctx, c) },
			func() *exec.Cmd { return p.job(p.hello, false, many...).command(ctx, c) })
		if err != nil {
			return err
		}
		b.pairWithSpread(fmt.Sprintf("fabric_start_%d_vs_tcp", n), times[0], times[1], "ms", atMost("ratio", fabricStartTarget))
	}
	return nil
}

// fabricFootprint tells what a rank has more than over TCP.
func fabricFootprint(ctx context.Context, b *bench, c *cluster, p *fabricPrograms) error {
	var resident, threads [2][]float64
	for range b.runs {
		for i, provider := range []bool{true, false} {
			out, err := p.job(p.footprint, provider, "-N", "2", "-n", "2").command(ctx, c).Output()
			if err != nil {
				return err
			}
			var kib, count float64
			if _, err := fmt.Sscan(string(out), &kib, &count); err != nil {
				return fmt.Errorf("%w: %q", errShortOutput, out)
			}
			resident[i], threads[i] = append(resident[i], kib*1024/1e6), append(threads[i], count)
		}
	}
	b.pair("fabric_rank_memory_vs_tcp", resident[0], resident[1], "MB", atMost("diff", fabricMemoryTarget))
	b.pair("fabric_rank_threads_vs_tcp", threads[0], threads[1], "", atMost("diff", fabricThreadsTarget))
	return nil
}
