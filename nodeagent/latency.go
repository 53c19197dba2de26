package nodeagent

import (
	"runtime"
	"score/nodeagent/realtime"

	"go.uber.org/zap"
)

// minProcessors is the least GOMAXPROCS, also on a node with one CPU. The switching thread needs a
// processor of Go's scheduler as soon as it wakes. The garbage collector and the streams to leader
// and peers seldom occupy more than four. The two real-time threads keep one each while they sleep.
const minProcessors = 4 + 2

// reduceLatency removes what could delay the switching thread in this process: goroutines that
// occupy all of Go's processors, and pages read from a disk. The returned function undoes it.
func (a *Agent) reduceLatency() (end func()) {
	slack := realtime.MonitorSlack
	if a.options.EnableRealtime {
		slack = realtime.RealtimeMonitorSlack
	}
	if err := realtime.CalmMonitor(slack); err != nil {
		a.log.Debug("the agent wakes often", zap.Error(err))
	}
	realtime.CalmCollector()
	if !a.options.EnableRealtime {
		return func() {}
	}
	if runtime.GOMAXPROCS(0) < minProcessors {
		runtime.GOMAXPROCS(minProcessors)
	}
	if err := realtime.LockMemory(); err != nil {
		a.log.Debug("the agent's memory is not locked", zap.Error(err))
	}
	a.guard = realtime.NewGuard(func(sentence string) { a.log.Warn(sentence) })
	return a.guard.Close
}

// raise returns a function that gives the calling thread real-time priority, within bounds; nil if
// no thread may have it.
func (a *Agent) raise(thread string, priority int) func() error {
	if a.guard == nil {
		return nil
	}
	return func() error { return a.guard.SetFIFO(thread, priority) }
}
