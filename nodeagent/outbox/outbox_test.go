package outbox

import (
	"runtime"
	"score/scored/api/agentpb"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// testLeader records the jobs of the messages that it gets.
type testLeader struct {
	sent         []uint64
	disconnected bool
}

func (l *testLeader) Send(m *agentpb.AgentMessage) {
	l.sent = append(l.sent, max(m.GetNote().GetJobId(), m.GetName().GetRequest(), m.GetSpawn().GetRequest()))
}
func (l *testLeader) Connected() bool { return !l.disconnected }

func ask(request uint64) *agentpb.AgentMessage {
	return &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Name{Name: &agentpb.NameRequest{Request: request}}}
}

func TestOutbox(t *testing.T) {
	leader := &testLeader{}
	o := New(leader)
	message := func(id uint64) *agentpb.AgentMessage {
		return &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Note{Note: &agentpb.JobNote{JobId: id}}}
	}
	expect := func(want ...uint64) {
		t.Helper()
		if !slices.Equal(leader.sent, want) {
			t.Errorf("sent %v, want %v", leader.sent, want)
		}
		leader.sent = nil
	}
	o.Keep(ask(1))
	o.Send(message(2))
	o.Keep(message(3))
	o.Note(message(4))
	expect(1, 2, 3, 4)
	leader.disconnected = true
	for id := range uint64(2 * maxNotes) {
		o.Note(message(100 + id))
	}
	expect()
	o.Answered(Name(1))
	o.Answered(Name(3))
	o.Repeat()
	if len(leader.sent) != 1+maxNotes || leader.sent[0] != 3 || leader.sent[1] != 100 {
		t.Errorf("repeated: %v", leader.sent)
	}
	leader.sent = nil
	o.Repeat()
	expect(3)
	o.Close()
	o.Keep(message(5))
	o.Note(message(6))
	o.Repeat()
	expect()
}

// TestAskedTwice: a question that a steward repeats is asked again, and kept once.
func TestAskedTwice(t *testing.T) {
	leader := &testLeader{}
	o := New(leader)
	o.Keep(ask(1))
	o.Keep(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Spawn{Spawn: &agentpb.SpawnRequest{Request: 1}}})
	o.Keep(ask(1))
	if want := []uint64{1, 1, 1}; !slices.Equal(leader.sent, want) {
		t.Errorf("sent %v", leader.sent)
	}
	leader.sent = nil
	o.Answered(Name(1))
	o.Repeat()
	if want := []uint64{1}; !slices.Equal(leader.sent, want) {
		t.Errorf("repeated %v", leader.sent)
	}
}

// TestAskedOtherwise: a question that a steward asks again in other words is kept as it was asked
// last.
func TestAskedOtherwise(t *testing.T) {
	o := New(&testLeader{})
	waits := ask(1)
	waits.GetName().Wait = true
	o.Keep(waits)
	o.Keep(ask(1))
	if kept := o.kept.Front().Value.(*agentpb.AgentMessage); o.kept.Len() != 1 || kept.GetName().GetWait() {
		t.Errorf("%d questions are kept, the first is %v", o.kept.Len(), kept)
	}
}

// TestManyQuestions: an answer takes no longer if many others are awaited.
func TestManyQuestions(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cpuTime := func() time.Duration {
		var ts unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
			t.Fatal(err)
		}
		return time.Duration(ts.Nano())
	}
	o := New(&testLeader{})
	const waiting, rounds = 8192, 50000
	for request := range uint64(waiting) {
		o.Keep(ask(request))
	}
	begin := cpuTime()
	for request := range uint64(rounds) {
		o.Keep(ask(waiting + request))
		o.Answered(Name(waiting + request))
	}
	if took := cpuTime() - begin; took > time.Second/2 {
		t.Errorf("%v of CPU time", took)
	}
}
