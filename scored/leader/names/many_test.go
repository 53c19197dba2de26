package names

import (
	"runtime"
	"score/scored/api/agentpb"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns how long this thread has run.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		t.Fatal(err)
	}
	return time.Duration(ts.Nano())
}

// TestManyLookups: one user's lookups do not keep the leader from its work, neither when a name is
// read once and the others wait on, nor when they are repeated, nor when their jobs end.
func TestManyLookups(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	connected := true
	table := New(func(node string) bool { return connected || node != "n1" })
	lookups := func() {
		for number := range uint64(MaxLookupsOfOne) {
			table.Handle(Asker{Node: "n1", UID: 7, Placed: true}, &agentpb.NameRequest{
				JobId: 1 + number/MaxLookups, Request: number, Op: agentpb.NameOp_NAME_OP_LOOKUP, Service: "ocean", Wait: true,
			})
		}
	}
	publish := func(number uint64, once bool) {
		table.Handle(Asker{Node: "n2", UID: 7, Placed: true}, &agentpb.NameRequest{
			JobId: 3, Request: number, Op: agentpb.NameOp_NAME_OP_PUBLISH, Service: "ocean", Once: once,
		})
	}
	lookups()
	const rounds = MaxLookups / 2
	begin := cpuTime(t)
	for number := range uint64(rounds) {
		publish(number, true)
	}
	if n := table.Use(7).Lookups; n != MaxLookupsOfOne-rounds {
		t.Fatalf("%d lookups wait", n)
	}
	connected = false
	publish(rounds, false)
	connected = true
	lookups() // as its agent does after it has lost its stream
	if n := table.Use(7).Lookups; n != 0 {
		t.Fatalf("%d lookups wait", n)
	}
	table.Drop(3)
	lookups()
	table.Drop(1)
	table.Drop(2)
	if took := cpuTime(t) - begin; took > 5*time.Second { // it takes a second with the race detector
		t.Errorf("%v of CPU time", took)
	}
}

// TestManyNames: the end of a job takes no longer if other jobs have published many names.
func TestManyNames(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	table := New(func(string) bool { return true })
	publish := func(job, number uint64) {
		table.Handle(Asker{Node: "n1", UID: uint32(job), Placed: true}, &agentpb.NameRequest{
			JobId: job, Request: number, Op: agentpb.NameOp_NAME_OP_PUBLISH, Service: strconv.FormatUint(number, 10),
		})
	}
	const jobs, names = 1000, 100
	for job := range uint64(jobs) {
		for number := range uint64(names) {
			publish(job, number)
		}
	}
	begin := cpuTime(t)
	for job := range uint64(jobs) {
		publish(jobs+job, 0)
		table.Drop(jobs + job)
	}
	if took := cpuTime(t) - begin; took > time.Second/2 {
		t.Errorf("%v of CPU time", took)
	}
	if n := table.Len(); n != jobs*names {
		t.Errorf("%d names", n)
	}
}
