package leader

import (
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"strconv"
	"strings"
	"testing"
	"time"
)

// cutSaid returns a node's report on its only rank of a job.
func cutSaid(w *world, id uint64, asleep bool, words []string) *agentpb.AgentMessage {
	cut := &agentpb.Cut{JobId: id, Asleep: asleep, Ranks: 1, Sent: 4, Received: 4}
	cut.Epoch, _ = strconv.ParseUint(words[0], 10, 64)
	if len(words) > 1 {
		cut.Request, _ = strconv.ParseUint(words[1], 10, 64)
		cut.Request |= w.b.term << requestBits
	}
	if len(words) > 2 {
		cut.Examined = true
		if cut.WakeSource = strings.Join(words[2:], " "); cut.WakeSource == "nothing" {
			cut.WakeSource = ""
		}
		cut.Waits = []*scorev1.RankWait{
			{Rank: uint32(cut.Epoch % 10), Channel: 1, Wait: "a message", SinceNanos: w.b.now - int64(time.Second), Sent: 4, Received: 4},
		}
	}
	return &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Cut{Cut: cut}}
}

// TestIdleView: users see that a job sleeps, what its ranks do, and what may wake it. The view ends
// when the job wakes.
func TestIdleView(t *testing.T) {
	w := newWorld(t)
	w.connect(hello("n1", 2))
	id, err := w.submit(jobSpec(1))
	if err != nil {
		t.Fatal(err)
	}
	w.receive("n1", prepared(id))
	w.receive("n1", launched(id, w.b.now))
	say := func(asleep bool, words ...string) { w.receive("n1", cutSaid(w, id, asleep, words)) }
	view := func() *scorev1.Idleness { return w.b.jobView(w.b.jobs[id], "").GetIdle() }
	say(true, "1")
	if view() != nil {
		t.Error("idle after one collection")
	}
	say(true, "1", "1")
	if got := view(); got == nil || got.GetSinceNanos() == 0 || got.GetSent() != 4 || got.GetWakeSource() != "" {
		t.Errorf("after two: %v", got)
	}
	// Top, which everybody may see, tells since when, and no more.
	if got := w.b.topView().GetJobs()[0].GetIdle(); got.GetSinceNanos() == 0 || got.GetSent() != 0 {
		t.Errorf("in top: %v", got)
	}
	w.advance(time.Second)
	say(true, "1", "2", "waits for a time")
	if got := view(); got.GetWakeSource() != "n1: waits for a time" || got.GetDeadlockedNanos() != 0 {
		t.Errorf("after a look: %v", got)
	}
	if waits := waitsOf(w.b.jobs[id]); len(waits) != 1 || waits[0].GetNode() != "n1" {
		t.Errorf("waits: %v", waits)
	}
	if stats := w.b.snapshotStats(); stats.Idle != 1 || stats.Deadlocked != 0 {
		t.Errorf("%d idle, %d deadlocked", stats.Idle, stats.Deadlocked)
	}
	say(false, "2")
	if got := view(); got != nil {
		t.Errorf("awake: %v", got)
	}
	// An answer to another leader's question is none.
	say(true, "3")
	w.b.term++
	stale := cutSaid(w, id, true, []string{"3", "3"})
	w.b.term--
	if w.receive("n1", stale); view() != nil {
		t.Error("idle by an answer to another question")
	}
}
