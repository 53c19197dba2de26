package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"score/nodeagent/fence"
	"score/nodeagent/pmi/kvpack"
	"score/scored/api/agentpb"
	"score/scored/api/agentpb/agentpbconnect"
	"score/scored/api/transport/h2"
	"slices"
	"sync"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sys/unix"

	model "score/tests/exchange"
)

const (
	exchangeNodes   = 1000
	exchangePerNode = 64
	// exchangeCalls are measured of a small message, a tenth as many of a large one.
	exchangeCalls = 400
	// exchangeLarge is the message by which bytes are measured.
	exchangeLarge = 8 << 20
)

var (
	exchangeSizes      = []int{21, 64, 256, 1024}
	exchangeAlgorithms = []fence.Algorithm{fence.TreeAlgorithm, fence.RingAlgorithm, fence.BruckAlgorithm, fence.Auto}
)

// exchangeFigures model the exchange of a large job's cards, with what messages between agents cost
// here.
func exchangeFigures(ctx context.Context, b *bench) error {
	costs, err := measureCollect(ctx)
	if err != nil {
		return err
	}
	b.single("exchange_measured_way", micros(costs.Way.Nanoseconds()), "us", noTarget())
	b.single("exchange_measured_message", micros(costs.Message.Nanoseconds()), "us", noTarget())
	b.single("exchange_measured_mib", micros(costs.PerMiB.Nanoseconds()), "us", noTarget())
	for _, size := range append([]int{0}, exchangeSizes...) {
		if err := exchangeOf(b, costs, model.Cards{Size: size, PerNode: exchangePerNode, Seed: 1}); err != nil {
			return err
		}
	}
	random := model.Cards{Size: 256, PerNode: exchangePerNode, Random: true, Seed: 1}
	if err := exchangeOf(b, costs, random); err != nil {
		return err
	}
	return crossover(ctx, b, costs)
}

// exchangeOf models one size by all algorithms.
func exchangeOf(b *bench, costs *model.Costs, kind model.Cards) error {
	name := fmt.Sprintf("exchange_%dx%d_%dB", exchangeNodes, exchangePerNode, kind.Size)
	if kind.Random {
		name += "_random"
	}
	pieces := make([][]byte, exchangeNodes)
	if kind.Size > 0 {
		packed, plain := 0, 0
		for node := range pieces {
			text := 0
			pieces[node], text = kind.Node(node)
			packed, plain = packed+len(pieces[node]), plain+text
		}
		bound := atMost("value", 0.5)
		if kind.Random {
			bound = noTarget()
		}
		b.single(name+"_plain", float64(plain)/(1<<20), "MiB", noTarget())
		b.single(name+"_packed_of_plain", float64(packed)/float64(plain), "", bound)
		start := time.Now()
		if err := readAll(pieces); err != nil {
			return err
		}
		b.single(name+"_read", float64(time.Since(start).Nanoseconds())/nanosPerMilli, "ms", noTarget())
	}
	for _, by := range exchangeAlgorithms {
		r, err := model.Run(model.Config{Nodes: exchangeNodes, By: by, Pieces: pieces, Costs: *costs})
		if err != nil {
			return err
		}
		b.single(fmt.Sprintf("%s_%v", name, by), float64(r.Took.Nanoseconds())/nanosPerMilli, "ms", noTarget())
		b.single(fmt.Sprintf("%s_%v_busiest", name, by), float64(r.BusiestBytes)/(1<<20), "MiB", noTarget())
	}
	return nil
}

// readAll reads what a node gets, as it does.
func readAll(pieces [][]byte) error {
	limits := kvpack.Limits{Ranks: exchangeNodes * exchangePerNode, Key: 511, Value: 1 << 20}
	for _, piece := range pieces {
		if err := kvpack.Read(string(piece), limits, func(int, string, string) error { return nil }); err != nil {
			return err
		}
	}
	return nil
}

// crossover finds from how many bytes together on the tree is not the fastest, and how a ring
// compares with Bruck's algorithm.
func crossover(ctx context.Context, b *bench, costs *model.Costs) error {
	for _, nodes := range []int{2, 3, 4, 8, 16, 64, 256} {
		from := 0
		for total := 4 << 10; total <= 8<<20 && from == 0; total *= 2 {
			if err := ctx.Err(); err != nil {
				return err
			}
			took, err := fastest(nodes, total, costs)
			if err != nil {
				return err
			}
			if took[fence.TreeAlgorithm] > min(took[fence.RingAlgorithm], took[fence.BruckAlgorithm]) {
				from = total
			}
		}
		b.single(fmt.Sprintf("exchange_%dnodes_tree_slower_from", nodes), float64(from>>10), "KiB", noTarget())
		took, err := fastest(nodes, 1<<20, costs)
		if err != nil {
			return err
		}
		b.single(fmt.Sprintf("exchange_%dnodes_1MiB_ring_of_bruck", nodes),
			float64(took[fence.RingAlgorithm])/float64(took[fence.BruckAlgorithm]), "", noTarget())
	}
	return nil
}

func fastest(nodes, total int, costs *model.Costs) (map[fence.Algorithm]time.Duration, error) {
	took := make(map[fence.Algorithm]time.Duration)
	for _, by := range exchangeAlgorithms {
		r, err := model.Run(model.Config{Nodes: nodes, By: by, Pieces: [][]byte{make([]byte, total/nodes)}, Costs: *costs})
		if err != nil {
			return nil, err
		}
		took[by] = r.Took
	}
	return took, nil
}

// collector takes what an agent's carrier sends.
type collector struct {
	agentpbconnect.UnimplementedPeerServiceHandler
}

func (collector) Collect(context.Context, *connect.Request[agentpb.CollectRequest]) (*connect.Response[agentpb.CollectResponse], error) {
	return connect.NewResponse(&agentpb.CollectResponse{}), nil
}

// measureCollect measures the agents' way of carrying a message, over loopback: protobuf in an
// HTTP/2 request.
func measureCollect(ctx context.Context) (*model.Costs, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle(agentpbconnect.NewPeerServiceHandler(collector{}))
	server := h2.NewServer(mux)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // it ends by Close
	defer serving.Wait()
	defer func() { _ = server.Close() }()
	client := agentpbconnect.NewPeerServiceClient(h2.NewClient(nil), "http://"+listener.Addr().String())
	call := func(bytes int) (time.Duration, error) {
		start := time.Now()
		_, err := client.Collect(ctx, connect.NewRequest(&agentpb.CollectRequest{JobId: 1, Sequence: 1, Data: [][]byte{make([]byte, bytes)}}))
		return time.Since(start), err
	}
	quick, err := quickCall(call)
	if err != nil {
		return nil, err
	}
	small, err := cpuOfCall(call, 0, exchangeCalls)
	if err != nil {
		return nil, err
	}
	large, err := cpuOfCall(call, exchangeLarge, exchangeCalls/10)
	if err != nil {
		return nil, err
	}
	// What the two ends do, each does half of.
	return &model.Costs{Way: quick / 2, Message: small / 2, PerMiB: (large - small) / 2 / (exchangeLarge >> 20)}, nil
}

// quickCall is how long a call takes from end to end, undisturbed: a tenth takes less.
func quickCall(call func(int) (time.Duration, error)) (time.Duration, error) {
	var took []time.Duration
	for range exchangeCalls {
		d, err := call(0)
		if err != nil {
			return 0, err
		}
		took = append(took, d)
	}
	slices.Sort(took)
	return took[len(took)/10], nil
}

// cpuOfCall is the CPU time that calls take, of both ends together: what others do on the machine
// is not in it.
func cpuOfCall(call func(int) (time.Duration, error), bytes, times int) (time.Duration, error) {
	before, err := cpuTime()
	if err != nil {
		return 0, err
	}
	for range times {
		if _, err := call(bytes); err != nil {
			return 0, err
		}
	}
	after, err := cpuTime()
	return (after - before) / time.Duration(times), err
}

// cpuTime is what this process has used.
func cpuTime() (time.Duration, error) {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0, err
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}
