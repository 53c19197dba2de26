package pmix

import (
	"score/nodeagent/pmi"
	"score/nodeagent/pmi/pmix/bfrops"
	"score/nodeagent/pmi/pmix/message"
	"testing"
)

func TestNames(t *testing.T) {
	h := newHost(t, 0)
	a := h.rankIn(0, bfrops.V3)
	value := bfrops.NewString("port")
	persist := bfrops.Info{Key: message.KeyPersist, Value: bfrops.NewNumber(bfrops.Persistence, message.PersistFirstRead)}
	a.send(message.Publish, (&message.PublishRequest{Infos: bfrops.Infos{{Key: "svc", Value: value}, persist}}).Write)
	op := h.task(Event).Event.Name
	if op.Kind != pmi.NamePublish || op.Service != "pmix//svc" || !op.Once {
		t.Fatalf("%+v", op)
	}
	answer := func(id uint64, ok bool, port string) {
		h.obey(h.server.Do(h.now, func(e *pmi.Engine) error { e.NameResult(id, ok, port); return nil }))
	}
	answer(op.ID, true, "")
	a.status(message.Success)
	lookup := message.LookupRequest{Keys: []string{"svc", "other"}}
	a.send(message.Lookup, lookup.Write)
	first, second := h.task(Event).Event.Name, h.task(Event).Event.Name
	answer(second.ID, false, "")
	a.waits()
	answer(first.ID, true, op.Port)
	_, r := a.reply()
	code, found := message.ReadFound(r)
	if code != message.ErrPartial || len(found) != 1 || found[0].Key != "svc" || found[0].Owner.Namespace != "score_7" ||
		found[0].Packed != message.Pack(&value) {
		t.Fatalf("%d %+v", code, found)
	}
	a.send(message.Lookup, (&message.LookupRequest{Keys: []string{"svc"}}).Write)
	answer(h.task(Event).Event.Name.ID, true, "no base64!")
	a.status(message.ErrNotFound)
	a.send(message.Lookup, (&message.LookupRequest{Keys: []string{"svc"}}).Write)
	answer(h.task(Event).Event.Name.ID, false, "too many wait")
	a.status(message.ErrNoResources)
	for reason, want := range map[string]int32{"": message.ErrDuplicate, "the job has published 256 names": message.ErrNoResources} {
		a.send(message.Publish, (&message.PublishRequest{Infos: bfrops.Infos{{Key: "svc", Value: value}}}).Write)
		answer(h.task(Event).Event.Name.ID, false, reason)
		a.status(want)
	}
}

// A lookup in a range within the job finds what is published there, else what is for the session.
func TestNamesOfNarrowRange(t *testing.T) {
	h := newHost(t, 0)
	a := h.rankIn(0, bfrops.V3)
	value := bfrops.NewString("port")
	port := portOf(bfrops.Proc{Namespace: "score_7"}, message.Pack(&value))
	for _, scope := range []uint64{message.RangeNode, message.RangeNamespace, message.RangeProcess} {
		for _, test := range []struct{ own, wider bool }{{true, false}, {false, true}, {false, false}} {
			narrow := bfrops.Info{Key: message.KeyRange, Value: bfrops.NewNumber(bfrops.Range, scope)}
			a.send(message.Lookup, (&message.LookupRequest{Keys: []string{"svc"}, Infos: bfrops.Infos{narrow}}).Write)
			answer := func(service string, ok bool) {
				op := h.task(Event).Event.Name
				if op.Service != service {
					t.Fatalf("range %d: %+v", scope, op)
				}
				text := ""
				if ok {
					text = port
				}
				h.obey(h.server.Do(h.now, func(e *pmi.Engine) error { e.NameResult(op.ID, ok, text); return nil }))
			}
			answer("pmix/7/svc", test.own)
			if !test.own {
				a.waits()
				answer("pmix//svc", test.wider)
			}
			if !test.own && !test.wider {
				a.status(message.ErrNotFound)
				continue
			}
			_, r := a.reply()
			if code, found := message.ReadFound(r); code != message.Success || len(found) != 1 || found[0].Key != "svc" {
				t.Fatalf("range %d: %d %+v", scope, code, found)
			}
		}
	}
}
