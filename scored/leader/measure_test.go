package leader

import (
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"testing"
	"time"
)

// reported is a node's report on a job: how long its gang was on, and how much it sent.
func reported(id uint64, ran time.Duration, sent, resent uint64) *agentpb.AgentMessage {
	return &agentpb.AgentMessage{Message: &agentpb.AgentMessage_SwitchReport{SwitchReport: &agentpb.SwitchReport{
		Usage: []*agentpb.SwitchReport_JobUsage{{JobId: id, Usage: &scorev1.Usage{
			RunNanos: ran.Nanoseconds(), SwitchNanos: 1e6,
			Messages: &scorev1.Messages{Contexts: 1, Sent: sent, SentBytes: 8 * sent, Resent: resent},
		}}},
	}}}
}

// twoNodes starts a job on n1 and n2.
func twoNodes(t *testing.T) (w *world, id uint64) {
	w = newWorld(t)
	w.connect(hello("n1", 1))
	w.connect(hello("n2", 1))
	id, err := w.submit(jobSpec(2))
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range []string{"n1", "n2"} {
		w.receive(node, prepared(id))
	}
	for _, node := range []string{"n1", "n2"} {
		w.receive(node, launched(id, w.b.now))
	}
	return w, id
}

func (w *world) top(t *testing.T, id uint64) *scorev1.TopJob {
	t.Helper()
	for _, j := range w.b.topView().GetJobs() {
		if j.GetJobId() == id {
			return j
		}
	}
	t.Fatalf("no job %d in %v", id, w.b.topView())
	return nil
}

// Rates are the differences between two reports, over all nodes, and expire. Sums never fall.
func TestTopTellsRates(t *testing.T) {
	w, id := twoNodes(t)
	w.receive("n1", reported(id, 0, 100, 0))
	w.receive("n2", reported(id, 0, 1000, 0))
	if j := w.top(t, id); j.GetSentPerSecond() != 0 || j.GetUsage().GetMessages().GetSent() != 1100 {
		t.Errorf("after one report %v", j)
	}
	w.advance(time.Second)
	w.receive("n1", reported(id, 500*time.Millisecond, 300, 4))
	w.receive("n2", reported(id, 250*time.Millisecond, 2000, 0))
	if j := w.top(t, id); j.GetSentPerSecond() != 1200 || j.GetBytesPerSecond() != 9600 || j.GetResentPerSecond() != 4 || j.GetShare() != 0.5 {
		t.Errorf("after two reports %v", j)
	}
	w.advance(100 * time.Millisecond)
	w.receive("n1", reported(id, 600*time.Millisecond, 10_000, 4))
	if j := w.top(t, id); j.GetSentPerSecond() != 1200 || j.GetUsage().GetMessages().GetSent() != 12_000 {
		t.Errorf("after a report that came too soon for a rate %v", j)
	}
	w.receive("n2", reported(id, 0, 5, 0))
	if j := w.top(t, id); j.GetUsage().GetMessages().GetSent() != 12_000 {
		t.Errorf("after an agent that knows less %v", j)
	}
	w.advance(time.Minute)
	if j := w.top(t, id); j.GetSentPerSecond() != 0 || j.GetShare() != 0 {
		t.Errorf("a minute later %v", j)
	}
}

// A job's counts of messages are shown after its end, and by the next leader.
func TestMessagesOutliveTheJob(t *testing.T) {
	w, id := twoNodes(t)
	for _, node := range []string{"n1", "n2"} {
		for _, t := range []*scorev1.Transports{{Rendezvous: 3, RendezvousOpen: 2}, {Rendezvous: 1, RendezvousOpen: 1}} {
			report := reported(id, 0, 50, 7)
			report.GetSwitchReport().GetUsage()[0].GetUsage().GetMessages().Transports = t
			w.receive(node, report)
		}
	}
	if shares := w.b.jobs[id].shares(); len(shares) != 2 || shares[0].GetUsage().GetMessages().GetResent() != 7 {
		t.Errorf("shares %v", shares)
	}
	for _, node := range []string{"n1", "n2"} {
		w.receive(node, nodeDone(id))
	}
	w.restart()
	if m := jobOf(w.log.Job(id)).GetUsage().GetMessages(); m.GetSent() != 100 || m.GetResent() != 14 ||
		m.GetTransports().GetRendezvous() != 6 || m.GetTransports().GetRendezvousOpen() != 2 {
		t.Errorf("after the end %v", m)
	}
}

// Top counts the jobs beyond its bound; running jobs come first.
func TestTopIsBounded(t *testing.T) {
	w, id := twoNodes(t)
	for range maxTop + 2 {
		if _, err := w.submit(jobSpec(1)); err != nil {
			t.Fatal(err)
		}
	}
	top := w.b.topView()
	if len(top.GetJobs()) != maxTop || top.GetJobsLeftOut() != 3 || top.GetJobs()[0].GetJobId() != id {
		t.Errorf("%d jobs, %d left out", len(top.GetJobs()), top.GetJobsLeftOut())
	}
}
