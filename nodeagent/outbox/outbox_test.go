package outbox

import (
	"score/scored/api/scorev1"
	"slices"
	"testing"
)

func TestOutbox(t *testing.T) {
	var sent []uint64
	connected := true
	o := New(func(m *scorev1.AgentMessage) { sent = append(sent, m.GetNote().GetJobId()) }, func() bool { return connected })
	message := func(id uint64) *scorev1.AgentMessage {
		return &scorev1.AgentMessage{Message: &scorev1.AgentMessage_Note{Note: &scorev1.JobNote{JobId: id}}}
	}
	expect := func(want ...uint64) {
		t.Helper()
		if !slices.Equal(sent, want) {
			t.Errorf("sent %v, want %v", sent, want)
		}
		sent = nil
	}
	o.Keep(message(1))
	o.Send(message(2))
	o.Keep(message(3))
	o.Note(message(4))
	expect(1, 2, 3, 4)
	connected = false
	for id := range uint64(2 * maxNotes) {
		o.Note(message(100 + id))
	}
	expect()
	o.Drop(func(m *scorev1.AgentMessage) bool { return m.GetNote().GetJobId() == 1 })
	o.Repeat()
	if len(sent) != 1+maxNotes || sent[0] != 3 || sent[1] != 100 {
		t.Errorf("repeated: %v", sent)
	}
	sent = nil
	o.Repeat()
	expect(3)
	o.Close()
	o.Keep(message(5))
	o.Note(message(6))
	o.Repeat()
	expect()
}
