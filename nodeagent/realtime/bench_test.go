package realtime

import (
	"os/exec"
	"runtime"
	"slices"
	"testing"
	"time"
)

// spin fills every CPU with a process that never sleeps.
func spin(b *testing.B) {
	b.Helper()
	for range runtime.NumCPU() {
		cmd := exec.Command("/bin/sh", "-c", "while :; do :; done")
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
	}
}

// BenchmarkLateness is how late a sleep of 2 ms ends: on an idle node, and with
// every CPU busy, without and with real-time priority.
func BenchmarkLateness(b *testing.B) {
	cases := []struct {
		name       string
		busy, fifo bool
	}{{"idle", false, false}, {"busy", true, false}, {"busy-fifo", true, true}, {"idle-fifo", false, true}}
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			if c.busy {
				spin(b)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				runtime.LockOSThread()
				lateness(b, c.fifo)
			}()
			<-done
		})
	}
}

func lateness(b *testing.B, fifo bool) {
	if fifo {
		if err := SetFIFO(SwitchPriority); err != nil {
			b.Log(err)
			return
		}
	}
	s := newSleeper(b)
	all := make([]time.Duration, 0, b.N)
	for b.Loop() {
		late, _, err := s.Until(Now() + int64(2*time.Millisecond))
		if err != nil {
			b.Error(err)
			return
		}
		all = append(all, late)
	}
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2].Nanoseconds())/1000, "us-median")
	b.ReportMetric(float64(all[len(all)*99/100].Nanoseconds())/1000, "us-p99")
	b.ReportMetric(float64(all[len(all)-1].Nanoseconds())/1000, "us-max")
}
