package steward_test

import (
	"runtime"
	"score/nodeagent/steward/stewardpb"
	"strconv"
	"testing"
	"time"
)

func TestTrueTimes64(t *testing.T) {
	for _, mode := range []struct {
		name    string
		options []option
	}{{"cgroup", []option{withCgroup}}, {"signals", nil}} {
		t.Run(mode.name, func(t *testing.T) {
			a := start(t, mode.options...)
			a.ready(a.order(64, []string{"/bin/true"}))
			begin := time.Now()
			a.do(a.conn.Launch())
			launched := a.launched()
			forked := time.Since(begin)
			a.done()
			t.Logf("64 ranks: forked after %v, done after %v", forked, time.Since(begin))
			if n := len(launched.GetPids()); n != 64 {
				t.Errorf("%d process ids", n)
			}
			for rank, e := range a.exits() {
				if e.GetExitCode() != 0 || e.GetSignal() != 0 || e.GetByUs() {
					t.Errorf("rank %d: %v", rank, e)
				}
			}
		})
	}
}

// BenchmarkStart is what a job of so many ranks of /bin/true costs, from the
// order to launch to the last word of two stewards, one CPU each.
func BenchmarkStart(b *testing.B) {
	for _, ranks := range []int{1, 4, 16, 64} {
		b.Run(strconv.Itoa(ranks), func(b *testing.B) {
			each := max(ranks/2, 1)
			stewards := min(ranks, 2)
			var prepare, begun time.Duration
			for b.Loop() {
				b.StopTimer()
				agents := make([]*agent, stewards)
				for i := range agents {
					agents[i] = start(b, withCgroup)
				}
				begin := time.Now()
				for i, a := range agents {
					a.do(a.conn.Prepare(a.order(each, []string{"/bin/true"}, onCPU(i))))
				}
				for _, a := range agents {
					a.prepared()
				}
				prepare += time.Since(begin)
				b.StartTimer()
				begin = time.Now()
				for _, a := range agents {
					a.do(a.conn.Launch())
				}
				for _, a := range agents {
					a.launched()
				}
				begun += time.Since(begin)
				for _, a := range agents {
					a.done()
				}
				b.StopTimer()
				for _, a := range agents {
					a.stop()
				}
				b.StartTimer()
			}
			b.ReportMetric(float64(prepare.Microseconds())/float64(b.N), "us-prepare")
			b.ReportMetric(float64(begun.Microseconds())/float64(b.N), "us-forked")
		})
	}
}

// onCPU gives a node one CPU of the machine's.
func onCPU(i int) change {
	return func(p *stewardpb.PrepareJob) { p.CpuIds = []uint32{uint32(i % runtime.NumCPU())} }
}
