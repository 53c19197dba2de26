package node

import (
	"runtime"
	"score/channels"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkComputing measures how long a message to a rank that computes takes until it is
// acknowledged, and what the receiving node's loop costs, at 1,000 messages per second.
func BenchmarkComputing(b *testing.B) {
	c := newCluster(b, 2, Config{})
	zero, one := c.join(b, c.jobs, 0, 1), c.join(b, c.jobs, 1, 1)
	one.poll()
	message := make([]byte, 8)
	var times []time.Duration
	l := c.nodes[1].loop
	begin, spent := channels.Nanos(), threadTime(l)
	for b.Loop() {
		start := channels.Nanos()
		if zero.driver.Enter() {
			if err := zero.driver.Send(1, message, true, start); err != nil {
				b.Fatal(err)
			}
			zero.driver.Leave()
		}
		for !zero.settled() {
			runtime.Gosched()
		}
		times = append(times, time.Duration(channels.Nanos()-start))
		one.in.ResetIdle()
		if m, ok := one.in.Poll(); ok {
			_ = one.in.Release(m)
		}
		time.Sleep(time.Millisecond - time.Duration(channels.Nanos()-start))
	}
	wall := channels.Nanos() - begin
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds()), "us/median")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "us/p99")
	b.ReportMetric(100*float64(threadTime(l)-spent)/float64(wall), "%cpu")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkWatching measures what the loop costs while ranks drive themselves.
func BenchmarkWatching(b *testing.B) {
	c := newCluster(b, 2, Config{})
	const contexts = 8
	var ranks []*rank
	for channel := range uint32(contexts) {
		ranks = append(ranks, c.join(b, c.jobs, 0, channel))
	}
	l := c.nodes[0].loop
	begin, spent := channels.Nanos(), threadTime(l)
	for b.Loop() {
		for _, r := range ranks {
			r.poll()
		}
	}
	b.ReportMetric(100*float64(threadTime(l)-spent)/float64(channels.Nanos()-begin), "%cpu")
}

// threadTime is the processor time of the loop's thread in nanoseconds.
func threadTime(l *loop) (spent int64) {
	l.do(func() {
		var ts unix.Timespec
		_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts)
		spent = ts.Nano()
	})
	return spent
}
