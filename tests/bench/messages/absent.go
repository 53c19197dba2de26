package messages

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"score/channels/abi"
	"score/pm"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// An absent rank computes and does not poll: what comes for it is taken, and acknowledged, by the
// agent of its node. The sender sees the acknowledgement by its send buffer, which holds one
// of the longest messages only: there is space again.

const (
	absentMessage = 2112
	absentSend    = 4096
	// absentLane holds all messages, since nobody takes them out.
	absentLane  = 1 << 20
	absentCount = 200
	// absentPause bounds the time between messages: the agent falls asleep in between.
	absentPause    = 10 * time.Millisecond
	absentPatience = 30 * time.Second
)

// Absent is what was seen of it.
type Absent struct {
	Acknowledged []float64 // milliseconds, ascending
	AgentCPU     float64   // of one processor, 0 to 1: of the busier of the two nodes' agents
}

// MeasureAbsent sends to a rank that computes.
func MeasureAbsent(ctx context.Context) (Absent, error) {
	cpus, err := CPUs()
	if err != nil {
		return Absent{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, absentPatience)
	defer cancel()
	r, err := start(job{
		role: "absent", ranks: 2, nodes: 2, cpus: cpus[:],
		geometry: abi.Geometry{MaxMessage: absentMessage, SendBytes: absentSend, LaneBytes: absentLane},
	})
	if err != nil {
		return Absent{}, err
	}
	share, err := agentCPU(ctx, r)
	if err != nil {
		r.kill()
	}
	if err := errors.Join(err, r.finish(ctx)); err != nil {
		return Absent{}, fmt.Errorf("a rank that computes: %w", err)
	}
	a := Absent{AgentCPU: share}
	for field := range strings.FieldsSeq(r.out[0].String()) {
		if ns, err := strconv.ParseFloat(field, 64); err == nil {
			a.Acknowledged = append(a.Acknowledged, ns/1e6)
		}
	}
	slices.Sort(a.Acknowledged)
	if len(a.Acknowledged) != absentCount {
		return a, errOutput
	}
	return a, nil
}

// agentCPU is what the busiest thread of this process uses while the messages go: each of the
// agents that it plays has one.
func agentCPU(ctx context.Context, r *running) (float64, error) {
	if err := r.out[0].await(ctx, saidBegin); err != nil {
		return 0, err
	}
	start, before := time.Now(), threadTimes()
	if err := r.out[0].await(ctx, saidDone); err != nil {
		return 0, err
	}
	elapsed, worst := float64(time.Since(start)), 0.0
	for thread, ns := range threadTimes() {
		worst = max(worst, ns-before[thread])
	}
	return worst / elapsed, nil
}

// threadTimes are the nanoseconds that this process's threads have run, by thread.
func threadTimes() map[string]float64 {
	times := map[string]float64{}
	threads, _ := filepath.Glob("/proc/self/task/*/schedstat") // the pattern is a good one
	for _, file := range threads {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		var ns float64
		if _, err := fmt.Sscan(string(data), &ns); err == nil {
			times[file] = ns
		}
	}
	return times
}

// absentRank: rank 1 says hello, then computes until it is released; rank 0 sends.
func absentRank(ch *pm.Channel) error {
	if ch.Rank() == 1 {
		if err := send(ch, 0, nil); err != nil {
			return err
		}
		compute()
		return nil
	}
	if err := take(ch, nil); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), absentPatience)
	defer cancel()
	data := make([]byte, absentMessage)
	fmt.Println(saidBegin)
	var took []time.Duration
	for range absentCount {
		time.Sleep(rand.N(absentPause))
		start := time.Now()
		if err := send(ch, 1, data); err != nil {
			return err
		}
		if err := ch.WaitSpace(ctx, 1, len(data)); err != nil {
			return err
		}
		took = append(took, time.Since(start))
	}
	fmt.Println(saidDone)
	for _, t := range took {
		fmt.Println(t.Nanoseconds())
	}
	return nil
}

// compute works until the starter closes the standard input.
func compute() {
	var stop atomic.Bool
	go func() {
		_, _ = io.ReadAll(os.Stdin)
		stop.Store(true)
	}()
	for !stop.Load() {
		work(1 << 10)
	}
}
