package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"score/tests/bench/messages"
	"slices"
	"strings"
	"syscall"
)

// group is one family of figures.
type group struct {
	name string
	run  func(context.Context, *bench) error
}

var groups = []group{
	{"launch", launchGroup},
	{"streams", streamsGroup},
	{"switch", switchGroup},
	{"sharing", sharingGroup},
	{"placement", placementGroup},
	{"channels", channelsGroup},
	{"netswitch", netswitchGroup},
	{"ledger", ledgerGroup},
	{"hostile", hostileGroup},
	{"scale", scaleGroup},
	{"pmi", pmiGroup},
	{"submit", submitGroup},
	{"stack", stackGroup},
	{"fabric", fabricGroup},
	{"applications", applicationsGroup},
	{"tipc", tipcGroup},
}

// bench is what all groups share.
type bench struct {
	*report
	bin  string // directory of scored and scrun
	work string // scratch directory, removed at the end
	out  string // directory of curves and plots, kept
	runs int    // alternating runs of a pair
	// record is where the costs that the model of scale draws from are written to; empty: they are
	// not measured.
	record string
	// far is where another host starts the processes that answer in group tipc; empty: none does.
	far string
	// many makes group tipc measure 100,000 connections, sockets and names, and nothing else.
	many bool
}

func main() {
	if messages.IsRank() {
		os.Exit(messages.RunRank())
	}
	if len(os.Args) > 2 && os.Args[1] == exchangeRank {
		fmt.Fprintln(os.Stderr, exchange(os.Args[2]))
		os.Exit(1)
	}
	if len(os.Args) > 1 && rankRoles[os.Args[1]] != nil {
		if err := rankRoles[os.Args[1]](os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	only := flag.String("only", "", "comma-separated groups to run (default all)")
	bin := flag.String("bin", "bin", "directory of scored and scrun")
	out := flag.String("out", filepath.Join("build", "bench"), "directory for curves and plots")
	runs := flag.Int("runs", 7, "alternating runs of each pair, at least 5")
	record := flag.String("record", "", "`file` to which group scale writes the costs that it measures first; without, it uses those it comes with")
	far := flag.String("far", "", "`address` at which 'bench socket-peers ADDRESS' listens on another host; group tipc then measures between the two")
	many := flag.Bool("many", false, "group tipc measures 100,000 connections, sockets and names, and nothing else (root, 2 GB of memory)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *only, bench{bin: *bin, out: *out, runs: *runs, record: *record, far: *far, many: *many}); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, only string, b bench) error {
	if b.runs < 5 {
		return errors.New("-runs below 5 says nothing")
	}
	chosen, err := choose(only)
	if err != nil {
		return err
	}
	if b.bin, err = filepath.Abs(b.bin); err != nil { // daemons run in directories of their own
		return err
	}
	work, err := os.MkdirTemp("", "score-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	// Programs of peers that crash leave no files where they were started.
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, new(syscall.Rlimit)); err != nil {
		return err
	}
	b.report, b.work = &report{out: os.Stdout}, work
	describeMachine(os.Stdout)
	var failed error
	for _, g := range chosen {
		fmt.Printf("# %s\n", g.name)
		if err := g.run(ctx, &b); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", g.name, err))
		}
	}
	fmt.Printf("# %d figures, %d short\n", b.count, b.short)
	return failed
}

func choose(only string) ([]group, error) {
	if only == "" {
		return groups, nil
	}
	var chosen []group
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(groups, func(g group) bool { return g.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no group %q; there are %s", name, groupNames())
		}
		chosen = append(chosen, groups[i])
	}
	return chosen, nil
}

func groupNames() string {
	names := make([]string, len(groups))
	for i, g := range groups {
		names[i] = g.name
	}
	return strings.Join(names, ", ")
}
