package outbox

import (
	"score/scored/api/scorev1"
	"slices"
	"testing"
)

// testLeader records the jobs of the messages that it gets.
type testLeader struct {
	sent         []uint64
	disconnected bool
}

func (l *testLeader) Send(m *scorev1.AgentMessage) { l.sent = append(l.sent, m.GetNote().GetJobId()) }
func (l *testLeader) Connected() bool              { return !l.disconnected }

func TestOutbox(t *testing.T) {
	leader := &testLeader{}
	o := New(leader)
	message := func(id uint64) *scorev1.AgentMessage {
		return &scorev1.AgentMessage{Message: &scorev1.AgentMessage_Note{Note: &scorev1.JobNote{JobId: id}}}
	}
	expect := func(want ...uint64) {
		t.Helper()
		if !slices.Equal(leader.sent, want) {
			t.Errorf("sent %v, want %v", leader.sent, want)
		}
		leader.sent = nil
	}
	o.Keep(message(1))
	o.Send(message(2))
	o.Keep(message(3))
	o.Note(message(4))
	expect(1, 2, 3, 4)
	leader.disconnected = true
	for id := range uint64(2 * maxNotes) {
		o.Note(message(100 + id))
	}
	expect()
	o.Drop(func(m *scorev1.AgentMessage) bool { return m.GetNote().GetJobId() == 1 })
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
