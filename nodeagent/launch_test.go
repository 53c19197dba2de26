package nodeagent_test

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// BenchmarkLaunch shows how long the stages of a short job take on a node:
// order to ready, plan to started, started to over. Between two jobs it waits
// as long as the node needs to have a warm steward again.
func BenchmarkLaunch(b *testing.B) {
	for _, ranks := range []int{1, 16, 64} {
		b.Run(fmt.Sprint(ranks), func(b *testing.B) {
			leader := startLeader(b)
			n := startNode(b, leader)
			s := leader.Next(b)
			clocked(b, s)
			stages := [3][]time.Duration{}
			job := uint64(0)
			for b.Loop() {
				time.Sleep(200 * time.Millisecond)
				job++
				order := n.order(job, "/bin/true")
				order.Spec.Tasks = uint32(ranks)
				for r := 1; r < ranks; r++ {
					order.Places[0].Ranks = append(order.Places[0].Ranks, uint32(r))
				}
				begun := time.Now()
				mustPrepare(b, s, order)
				ready := time.Now()
				s.Send(planMessage(1, job, time.Second, []uint64{job}))
				launched(b, s, job)
				started := time.Now()
				done(b, s, job)
				over := time.Now()
				s.Send(forgetMessage(job))
				for i, d := range []time.Duration{ready.Sub(begun), started.Sub(ready), over.Sub(started)} {
					stages[i] = append(stages[i], d)
				}
			}
			for i, name := range []string{"prepare-us", "launch-us", "end-us"} {
				slices.Sort(stages[i])
				b.ReportMetric(float64(stages[i][len(stages[i])/2].Microseconds()), name)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
