package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"score/channels/link/tipc"
	"time"
)

// What TIPC did beside TCP on two hosts with a gigabit network, in the paper that a TIPC channel
// comes from; the ratios are of times, and of bandwidths.
const (
	tipcConnectTarget   = 0.8 // connect, ping-pong, close
	tipcLatencyTarget   = 0.5 // of small messages
	tipcBandwidthTarget = 1.1
)

const (
	// tipcConnects is how many connections a run makes. The paper made 100,000, which in a guest
	// takes minutes (tipcMany).
	tipcConnects = 500
	// tipcRounds and tipcWindows are how many messages, and windows of them, a run passes.
	tipcRounds  = 1000
	tipcWindows = 60
	// tipcBytes bounds the bytes that a run's messages carry there, as many as windows do: between
	// guests all rounds of long ones took minutes.
	tipcBytes = tipcWindows * windowBytes
)

// tipcRoundsOf is how many messages of a size a run passes there and back.
func tipcRoundsOf(size int) int { return min(tipcRounds, tipcBytes/size) }

// tipcSizes are the lengths of messages; UDP takes no 65,536 bytes at once.
var tipcSizes = []int{8, 1 << 10, 4 << 10, 16 << 10, 65_000}

// tipcConnectSizes are the sizes of the paper's connections.
var tipcConnectSizes = []int{64, 1 << 10, 4 << 10}

// errNoTIPC: the group needs a kernel that this one is not.
var errNoTIPC = errors.New("this group needs TIPC; 'go test ./tests/tipc -run TestBench -tipc.bench -v' runs it in a guest")

// tipcGroup compares sockets of TIPC with those of TCP and UDP, as the paper did.
func tipcGroup(ctx context.Context, b *bench) error {
	if err := tipc.Check(); err != nil {
		b.note("%v: %v", errNoTIPC, err)
		return nil
	}
	if b.far == "" {
		b.note("sockets of one kernel: two processes, no network between them; %d processors", runtime.NumCPU())
	} else {
		b.note("sockets of two hosts, each with %d processors; the other is %s", runtime.NumCPU(), b.far)
	}
	if virtual() {
		b.note("this is a guest: system calls and switches cost many times what they do on a real host, so only ratios mean anything")
	}
	if b.many {
		return tipcMany(ctx, b)
	}
	for _, size := range tipcConnectSizes {
		name := fmt.Sprintf("tipc.connect-%d", size)
		if err := b.sockets(
			ctx,
			name,
			[2]socketKind{tipcStream, tcpSocket},
			socketRun{mode: modeConnect, size: size, count: tipcConnects},
			"us",
			atMost("ratio", tipcConnectTarget),
		); err != nil {
			return err
		}
	}
	for _, pair := range [][2]socketKind{{tipcStream, tcpSocket}, {tipcDatagram, udpSocket}} {
		if err := tipcPair(ctx, b, pair); err != nil {
			return err
		}
	}
	return nil
}

// tipcPair compares latency and bandwidth, one way and both ways.
func tipcPair(ctx context.Context, b *bench, pair [2]socketKind) error {
	for _, size := range tipcSizes {
		lower, upper := noTarget(), noTarget()
		if pair[1] == tcpSocket {
			lower = atLeast("ratio", tipcBandwidthTarget)
			if size == tipcSizes[0] {
				upper = atMost("ratio", tipcLatencyTarget)
			}
		}
		for _, c := range []struct {
			what string
			mode socketMode
			n    int
			unit string
			t    target
		}{
			{"latency", modeEcho, tipcRoundsOf(size), "us", upper},
			{"bandwidth", modeSink, tipcWindows, "MB/s", lower},
			{"both-ways", modeBoth, tipcWindows, "MB/s", lower},
		} {
			name := fmt.Sprintf("tipc.%s-%s-%d", pair[0], c.what, size)
			if err := b.sockets(ctx, name, pair, socketRun{mode: c.mode, size: size, count: c.n}, c.unit, c.t); err != nil {
				return err
			}
		}
	}
	return nil
}

// sockets runs two kinds of sockets alternately and reports the first beside the second.
func (b *bench) sockets(ctx context.Context, name string, pair [2]socketKind, run socketRun, unit string, t target) error {
	var values [2][]float64
	run.far = b.far
	for range b.runs {
		for i, kind := range pair {
			run.kind = kind
			took, bytes, err := run.measure(ctx)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", name, kind, err)
			}
			value := float64(took.Microseconds()) / float64(run.count)
			switch run.mode {
			case modeEcho:
				value /= 2
			case modeSink, modeBoth:
				value = float64(bytes) / math.Max(took.Seconds(), time.Microsecond.Seconds()) / 1e6
			case modeConnect:
			}
			values[i] = append(values[i], value)
		}
	}
	b.pair(name, values[0], values[1], unit, t)
	return nil
}
