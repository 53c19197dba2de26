package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"score/nodeagent/fence"
	"score/scored/leader"
	"score/tests/scale"
	"strconv"
	"strings"
	"time"

	model "score/tests/exchange"
)

const (
	// startNodes and startPerNode are the large job whose start is modelled.
	startNodes   = 1000
	startPerNode = 100
	// startCard is about what MPICH with UCX puts, in bytes.
	startCard = 209
	// startRuns of a node are measured; the slowest of each phase counts.
	startRuns = 3
	// startCommit is the time of a commit to disk. A start waits for one (docs/BENCHMARKS.md,
	// placement).
	startCommit = time.Millisecond
	// startBench measures the leader's own work.
	startBench = "BenchmarkStart"
)

// startFigures model the start of a large job: the leader's work and the steward's are measured
// with the real code and the real job, messages cost what they cost here, and the exchange is the
// model of that. Everything that could overlap on other nodes is added up, so the sum is an upper
// bound.
func startFigures(ctx context.Context, b *bench) error {
	costs, err := measureCollect(ctx)
	if err != nil {
		return err
	}
	recorded, err := scale.Recorded()
	if err != nil {
		return err
	}
	work, err := leaderOfStart(ctx)
	if err != nil {
		return err
	}
	nodes, err := startOfNode(ctx, b)
	if err != nil {
		return err
	}
	message := func(bytes float64) time.Duration {
		return costs.Message + time.Duration(float64(costs.PerMiB)*bytes/(1<<20))
	}
	b.single("start_order", work["order-B/node"]/1024, "KiB", noTarget())
	sum := time.Duration(0)
	step := func(name string, took time.Duration) {
		sum += took
		b.single("start_"+name, milli(took), "ms", noTarget())
	}
	step("placed", startCommit+ms(work["placed-ms"]))
	step("orders_sent", startNodes*message(work["order-B/node"])+costs.Way)
	step("ready", nodes.ready)
	step("ready_told", startNodes*message(0)+costs.Way+ms(work["prepared-ms"]))
	step("plan", startNodes*recorded.PlanPerNode+leader.PlanLead(startNodes))
	step("forked", nodes.forked)
	b.single("start_instant_on", milli(sum), "ms", atMost("value", 2000))
	step("init", nodes.init)
	exchange, err := startExchange(costs)
	if err != nil {
		return err
	}
	step("exchanged", exchange)
	step("fenced", nodes.fenced)
	b.single("start_with_exchange", milli(sum), "ms", atMost("value", 5000))
	return nil
}

func ms(x float64) time.Duration { return time.Duration(x * nanosPerMilli) }

func milli(d time.Duration) float64 { return float64(d.Nanoseconds()) / nanosPerMilli }

func startExchange(costs *model.Costs) (time.Duration, error) {
	r, err := model.Run(model.Config{Nodes: startNodes, By: fence.Auto, Pieces: startPieces(), Costs: *costs})
	if err != nil {
		return 0, err
	}
	return r.Took, nil
}

// startPieces are what the nodes give to the first fence.
func startPieces() [][]byte {
	kind := model.Cards{Size: startCard, PerNode: startPerNode, Seed: 1}
	pieces := make([][]byte, startNodes)
	for node := range pieces {
		pieces[node], _ = kind.Node(node)
	}
	return pieces
}

// leaderOfStart is what the start costs the leader, by the names of the benchmark in package
// leader.
func leaderOfStart(ctx context.Context) (map[string]float64, error) {
	name := fmt.Sprintf("%s/nodes=%d/ranks=%d", startBench, startNodes, startNodes*startPerNode)
	pattern := "^" + strings.ReplaceAll(name, "/", "$/^") + "$"
	out, err := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", pattern, "-benchtime", "5x", "./scored/leader").Output()
	if err != nil {
		return nil, fmt.Errorf("go test -bench: %w: %s", err, out)
	}
	figures := make(map[string]float64)
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		fields := strings.Fields(s.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], startBench+"/") {
			continue
		}
		for i := 2; i+1 < len(fields); i += 2 {
			if figures[fields[i+1]], err = strconv.ParseFloat(fields[i], 64); err != nil {
				return nil, err
			}
		}
	}
	for _, needed := range []string{"order-B/node", "placed-ms", "prepared-ms"} {
		if figures[needed] == 0 {
			return nil, errShortOutput
		}
	}
	return figures, nil
}

// startRank is a rank that puts a card, waits for the fence and leaves, by PMI-1.
const startRank = `
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char line[4096];
static void ask(int fd, const char *what) {
	if (write(fd, what, strlen(what)) < 0) exit(1);
	for (int n = 0;; n++) if (read(fd, line + n, 1) != 1) exit(1); else if (line[n] == '\n') { line[n] = 0; return; }
}
int main(void) {
	int fd = atoi(getenv("PMI_FD"));
	char kvs[256] = "", put[1024];
	ask(fd, "cmd=init pmi_version=1 pmi_subversion=1\n");
	ask(fd, "cmd=get_my_kvsname\n");
	char *name = strstr(line, "kvsname=");
	if (name) sscanf(name + 8, "%255s", kvs);
	snprintf(put, sizeof put, "cmd=put kvsname=%s key=-allgather-shm-1-%s value=%0209d\n", kvs, getenv("PMI_RANK"), atoi(getenv("PMI_RANK")));
	ask(fd, put);
	ask(fd, "cmd=barrier_in\n");
	ask(fd, "cmd=finalize\n");
	return 0;
}
`

func compileStartRank(ctx context.Context, work string) (string, error) {
	source, program := filepath.Join(work, "startrank.c"), filepath.Join(work, "startrank")
	if err := os.WriteFile(source, []byte(startRank), 0o600); err != nil {
		return "", err
	}
	if out, err := exec.CommandContext(ctx, "gcc", "-O2", "-w", "-o", program, source).CombinedOutput(); err != nil {
		return "", fmt.Errorf("gcc: %w: %s", err, out)
	}
	return program, nil
}

// startOfNode measures one node of the job, with as many ranks as this machine has CPUs for, in
// turn.
func startOfNode(ctx context.Context, b *bench) (slowest nodeStart, err error) {
	program, err := compileStartRank(ctx, b.work)
	if err != nil {
		return slowest, err
	}
	scored, err := filepath.Abs(filepath.Join(b.bin, "scored"))
	if err != nil {
		return slowest, err
	}
	for i := range startRuns {
		one, err := oneNodeStart(ctx, scored, b.work, program, i)
		if err != nil {
			return slowest, errors.Join(err, ctx.Err())
		}
		slowest = nodeStart{
			ready: max(slowest.ready, one.ready), forked: max(slowest.forked, one.forked),
			init: max(slowest.init, one.init), fenced: max(slowest.fenced, one.fenced),
		}
	}
	b.note("a node's part is measured here: %d ranks on %d CPUs", startPerNode, runtime.NumCPU())
	return slowest, nil
}
