package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// programCounts are the numbers of processes that the start of an MPI program is timed with.
var programCounts = []int{4, 16, 64}

// mpi is one of the MPIs whose programs are started.
type mpi struct {
	name, compiler string
	peer           string   // its own launcher
	args           []string // of that
	slurm          string   // what srun offers
}

var mpis = []mpi{
	{"mpich", "mpicc.mpich", "mpiexec.hydra", nil, "pmi2"},
	{"openmpi", "mpicc.openmpi", "mpirun.openmpi", []string{"--allow-run-as-root", "--oversubscribe"}, "pmix"},
}

// programFigures times the start and end of an MPI program on two nodes of this machine.
func programFigures(ctx context.Context, b *bench) error {
	c, err := startCluster(ctx, b, clusterOptions{nodes: 2})
	if err != nil {
		return err
	}
	defer c.stop()
	slurm, slurmErr := startSlurm(ctx, b.work)
	if slurmErr == nil {
		defer slurm.stop()
	}
	failed := slurmErr
	for _, m := range mpis {
		failed = errors.Join(failed, programStarts(ctx, b, c, slurm, slurmErr == nil, m))
	}
	return failed
}

// programStarts compares the start of one MPI's programs with its own launcher and Slurm's.
func programStarts(ctx context.Context, b *bench, c *cluster, s *slurm, hasSlurm bool, m mpi) error {
	if _, err := exec.LookPath(m.compiler); err != nil {
		b.note("%s is not installed; its starts are not timed", m.compiler)
		return nil
	}
	binary := filepath.Join(b.work, "hello."+m.name)
	if err := compileC(ctx, m.compiler, binary, "tests/bench/testdata/mpihello.c"); err != nil {
		return err
	}
	for _, n := range programCounts {
		count := strconv.Itoa(n)
		commands := []func() *exec.Cmd{
			func() *exec.Cmd { return c.scrun(ctx, "--oversubscribe", "-N2", "-n", count, binary) },
			func() *exec.Cmd {
				return exec.CommandContext(ctx, m.peer, append(append([]string{}, m.args...), "-n", count, binary)...)
			},
		}
		if hasSlurm {
			commands = append(commands, func() *exec.Cmd {
				cmd := s.srun(ctx, n, binary, "--mpi="+m.slurm)
				cmd.Env = append(cmd.Env, "OMPI_MCA_btl_tcp_if_include=lo") // Slurm's namespace has no other network
				return cmd
			})
		}
		totals, said, err := alternateSaying(b.runs, commands...)
		if err != nil && hasSlurm && ctx.Err() == nil {
			// Slurm's nodes are one host here, and Open MPI's files of two of them may meet.
			reason, _, _ := strings.Cut(err.Error(), "\n")
			b.note("%d ranks of %s are compared without Slurm: %s", n, m.name, reason)
			totals, said, err = alternateSaying(b.runs, commands[:2]...)
		}
		if err != nil {
			return err
		}
		name := fmt.Sprintf("pmi_start_%s_%d", m.name, n)
		b.pair(name+"_vs_"+m.peer, totals[0], totals[1], "ms", atMost("ratio", 1))
		if len(totals) > 2 {
			b.pair(name+"_vs_srun", totals[0], totals[2], "ms", atMost("ratio", 1))
		}
		b.pair(name+"_beyond_init_vs_"+m.peer, beyondInit(totals[0], said[0]), beyondInit(totals[1], said[1]), "ms", noTarget())
	}
	return nil
}

// beyondInit is what is left of each run without the program's own MPI_Init.
func beyondInit(totals []float64, said []map[string]float64) []float64 {
	left := make([]float64, len(totals))
	for i := range totals {
		left[i] = totals[i] - said[i]["init"]
	}
	return left
}

// pmixQuantities are what tests/bench/testdata/pmixtimes.c times.
var pmixQuantities = []string{"init", "first", "again", "fence"}

// pmixStarts is how often a client of libpmix is started in each run: it takes a tenth of a second,
// and single gets of it are far apart.
const pmixStarts = 8

// pmixFigures compares what a client of libpmix sees of this server and of libpmix's own, between
// two nodes of one rank.
func pmixFigures(ctx context.Context, b *bench) error {
	client, host := filepath.Join(b.work, "pmixtimes"), filepath.Join(b.work, "pmixhost")
	flags, ok := pmixFlags()
	if !ok {
		b.note("libpmix-dev is not installed; its server is not compared with")
		return nil
	}
	err := errors.Join(compileC(ctx, "gcc", client, "tests/bench/testdata/pmixtimes.c", flags...),
		compileC(ctx, "gcc", host, "tests/pmix/host.c", flags...))
	if err != nil {
		return err
	}
	c, err := startCluster(ctx, b, clusterOptions{nodes: 2})
	if err != nil {
		return err
	}
	defer c.stop()
	peers := []string{"hash", "ds21,hash"}
	commands := []func() *exec.Cmd{func() *exec.Cmd { return c.scrun(ctx, "-N2", "-n2", client) }}
	for _, store := range peers {
		commands = append(commands, func() *exec.Cmd { return exec.CommandContext(ctx, host, store, "2", "1", client) })
	}
	_, said, err := alternateSaying(pmixStarts*b.runs, commands...)
	if err != nil {
		return err
	}
	for i, store := range peers {
		short, _, _ := strings.Cut(store, ",")
		for _, quantity := range pmixQuantities {
			b.pair("pmi_pmix_"+quantity+"_vs_"+short, quantities(said[0], quantity), quantities(said[1+i], quantity), "us", atMost("ratio", 1))
		}
	}
	return nil
}

func quantities(said []map[string]float64, name string) []float64 {
	values := make([]float64, len(said))
	for i := range said {
		values[i] = said[i][name]
	}
	return values
}

// pmixFlags are the compiler's arguments for programs that use libpmix, as Debian installs it.
func pmixFlags() (flags []string, ok bool) {
	dirs, err := filepath.Glob("/usr/lib/*/pmix2")
	if err != nil || len(dirs) == 0 || !exists(filepath.Join(dirs[0], "include", "pmix_server.h")) {
		return nil, false
	}
	return []string{"-I" + filepath.Join(dirs[0], "include"), "-L" + filepath.Join(dirs[0], "lib"), "-lpmix", "-lpthread"}, true
}

func compileC(ctx context.Context, compiler, binary, source string, flags ...string) error {
	args := append([]string{"-O2", "-w", "-o", binary, source}, flags...)
	out, err := exec.CommandContext(ctx, compiler, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", compiler, source, err, out)
	}
	return nil
}

// alternateSaying is alternate for programs that say what they have timed, as words with numbers.
func alternateSaying(rounds int, commands ...func() *exec.Cmd) (totals [][]float64, said [][]map[string]float64, err error) {
	totals, said = make([][]float64, len(commands)), make([][]map[string]float64, len(commands))
	for round := -1; round < rounds; round++ {
		for i, command := range commands {
			total, words, err := saying(command())
			if err != nil {
				return nil, nil, err
			}
			if round >= 0 {
				totals[i], said[i] = append(totals[i], total), append(said[i], words)
			}
		}
	}
	return totals, said, nil
}

// saying runs a command and returns its wall time in milliseconds and what it said.
func saying(cmd *exec.Cmd) (total float64, words map[string]float64, err error) {
	var errs strings.Builder
	cmd.Stderr = &errs
	start := time.Now()
	out, err := cmd.Output()
	total = float64(time.Since(start).Nanoseconds()) / 1e6
	if err != nil {
		return 0, nil, fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(errs.String()))
	}
	words = make(map[string]float64)
	fields := strings.Fields(string(out))
	for i := 0; i+1 < len(fields); i += 2 {
		if words[fields[i]], err = strconv.ParseFloat(fields[i+1], 64); err != nil {
			return 0, nil, fmt.Errorf("%s: %w: %q", strings.Join(cmd.Args, " "), errShortOutput, out)
		}
	}
	if len(words) == 0 {
		return 0, nil, fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), errShortOutput)
	}
	return total, words, nil
}
