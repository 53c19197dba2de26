package pmix

import (
	"score/nodeagent/pmi"
	"score/nodeagent/pmi/pmix/bfrops"
	"score/nodeagent/pmi/pmix/message"
	"strings"
	"testing"
)

func TestAbortAndControl(t *testing.T) {
	h := newHost(t, 0, 0)
	a := h.rank(0)
	control := func(infos ...bfrops.Info) int32 {
		m := message.JobControlRequest{Infos: infos}
		a.send(message.JobControl, m.Write)
		_, r := a.reply()
		code, _ := message.ReadResults(r)
		return code
	}
	text := func(key, value string) bfrops.Info { return bfrops.Info{Key: key, Value: bfrops.NewString(value)} }
	if code := control(text(message.KeyCleanupDir, "/tmp/a/../b"), bfrops.Info{Key: message.KeyRecurse, Value: bfrops.NewBool(true)}); code != message.Success {
		t.Error(code)
	}
	if e := h.task(Cleanup); e.Path != "/tmp/b" || !e.Dir || !e.Recurse {
		t.Errorf("%+v", e)
	}
	for _, bad := range []string{"relative", "", "/" + strings.Repeat("x", maxPath)} {
		if code := control(text(message.KeyCleanup, bad)); code != message.ErrBadParam {
			t.Errorf("%.20q: %d", bad, code)
		}
	}
	signal := func(number int) int32 {
		return control(bfrops.Info{Key: message.KeySignal, Value: bfrops.Value{Type: bfrops.Int, Number: uint64(number)}})
	}
	for _, number := range []int{1, 64} {
		if code := signal(number); code != message.Success {
			t.Error(code)
		}
		if e := h.task(Signal); e.Code != number || e.Rank != NoRank {
			t.Errorf("%d: %+v", number, e)
		}
	}
	for _, bad := range []int{-1, 0, 65} {
		if code := signal(bad); code != message.ErrBadParam {
			t.Errorf("signal %d: %d", bad, code)
		}
	}
	for said, want := range map[string]string{"g\xfcnstig": "g\xfcnstig", strings.Repeat("x", maxPrint) + "y": strings.Repeat("x", maxPrint)} {
		a.send(message.Log, (&message.LogRequest{Data: bfrops.Infos{text(message.KeyStderr, said)}}).Write)
		a.status(message.Success)
		if e := h.task(Print); e.Text != want || !e.Stderr {
			t.Errorf("%.20q: %.20q of %d bytes", said, e.Text, len(e.Text))
		}
	}
}

func TestReasonOfAbort(t *testing.T) {
	for said, want := range map[string]string{"why\nnot": "why", "N/A": ""} {
		h := newHost(t, 0, 0)
		h.rank(0).send(message.Abort, (&message.AbortRequest{Code: 0x107, Text: said}).Write)
		if e := h.task(Abort); e.Code != 7 || e.Rank != 0 || e.Text != want {
			t.Errorf("%q: %+v", said, e)
		}
	}
}

func TestEvents(t *testing.T) {
	h := newHost(t, 0, 0, 0)
	a, b := h.rank(0), h.rankIn(1, bfrops.V3)
	h.rank(2)
	a.send(message.RegisterEvents, (&message.EventsRequest{Codes: []int32{message.ErrProcSignal}}).Write)
	a.status(message.Success)
	b.send(message.RegisterEvents, (&message.EventsRequest{}).Write)
	b.status(message.Success)
	h.obey(h.server.RankEnded(h.now, 2, pmi.PhaseActive, 0, 11))
	for _, c := range []*client{a, b} {
		tag, r := c.reply()
		if r == nil || tag != message.TagNotify || message.Command(r.Command()) != message.Notify {
			t.Fatalf("rank %d was not told", c.rank)
		}
		e := message.ReadEvent(r)
		if e.Code != message.ErrProcSignal || e.Source.Rank != 2 || e.Infos.Find(message.KeyAffected) == nil || r.Err() != nil {
			t.Errorf("%+v, %v", e, r.Err())
		}
	}
	a.send(message.DeregisterEvents, func(w *bfrops.Writer) { w.Status(message.ErrProcSignal) })
	a.waits() // it has no reply
	h.obey(h.server.RankEnded(h.now, 2, pmi.PhaseActive, 0, 11))
	a.waits()
}

// TestJobEnded is for what a job has spawned, which may be told twice.
func TestJobEnded(t *testing.T) {
	h := newHost(t, 0, 0)
	a, b := h.rank(0), h.rank(1)
	a.send(message.RegisterEvents, (&message.EventsRequest{Codes: []int32{message.JobEnded}}).Write)
	a.status(message.Success)
	for _, test := range []struct {
		job    uint64
		code   int
		status int32
	}{{8, 7, message.ErrJobExit}, {9, 0, message.Success}} {
		for range 2 {
			h.obey(h.server.JobEnded(h.now, test.job, test.code))
		}
		_, r := a.reply()
		if r == nil || message.Command(r.Command()) != message.Notify {
			t.Fatalf("job %d: nobody was told", test.job)
		}
		e := message.ReadEvent(r)
		affected, status, code := e.Infos.Find(message.KeyAffected), e.Infos.Find(message.KeyTermStatus), e.Infos.Find(message.KeyExitCode)
		if e.Code != message.JobEnded || e.Source.Namespace != nameOf(test.job) || !e.Infos.True(message.KeyNotDefault) || r.Err() != nil ||
			affected == nil || affected.Parts[0].Text != nameOf(test.job) || status == nil || int32(status.Signed()) != test.status ||
			code == nil || int(code.Signed()) != test.code {
			t.Errorf("job %d: %+v, %v", test.job, e, r.Err())
		}
		a.waits()
	}
	b.waits()
	for job := range uint64(2 * keptEnds) {
		h.obey(h.server.JobEnded(h.now, 100+job, 0))
	}
	if n := len(h.server.jobsEnded); n != keptEnds {
		t.Errorf("%d ends are kept", n)
	}
}
