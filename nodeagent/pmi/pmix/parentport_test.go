package pmix

import (
	"score/nodeagent/pmi"
	"score/nodeagent/pmi/pmix/bfrops"
	"score/nodeagent/pmi/pmix/message"
	"testing"
)

// A rank does not wait for names that a spawned job was to publish and has not, since it has ended;
// for others it does.
func TestNobodyPublishes(t *testing.T) {
	h := newHost(t, 0, 0)
	a, b := h.rank(0), h.rank(1)
	h.spawned(a, "port1", 8)
	h.spawned(a, "port", 9)
	awaited := func(c *client, key string) pmi.NameOp {
		wait := bfrops.Info{Key: message.KeyWait, Value: bfrops.NewNumber(bfrops.Uint32, 1)}
		c.send(message.Lookup, (&message.LookupRequest{Keys: []string{key}, Infos: bfrops.Infos{wait}}).Write)
		return h.task(Event).Event.Name
	}
	first, other := awaited(a, "port1:accept"), awaited(b, "port:accept")
	if !first.Wait || !other.Wait {
		t.Fatalf("%+v, %+v", first, other)
	}
	h.obey(h.server.JobEnded(h.now, 8, 0))
	again := h.task(Event).Event.Name
	if again.ID != first.ID || again.Service != first.Service || again.Wait {
		t.Fatalf("asked again: %+v", again)
	}
	h.obey(h.server.Do(h.now, func(e *pmi.Engine) error { e.NameResult(again.ID, false, ""); return nil }))
	a.status(message.ErrNotFound)
	if later := awaited(a, "port1:accept"); later.Wait {
		t.Errorf("asked later: %+v", later)
	}
	b.waits()
}

// spawned makes a rank spawn a job to which it passes a port.
func (h *host) spawned(c *client, port string, job uint64) {
	h.t.Helper()
	app := bfrops.App{Command: "./kid", Args: []string{"./kid"}, Env: []string{"X=1", parentPort + port}, MaxProcs: 1}
	c.send(message.Spawn, (&message.SpawnRequest{Apps: []bfrops.App{app}}).Write)
	id := h.task(Event).Event.Spawn.ID
	h.obey(h.server.Do(h.now, func(e *pmi.Engine) error {
		e.SpawnResult(id, pmi.SpawnResult{KVSName: nameOf(job)})
		return nil
	}))
	c.reply()
}

func TestPortsAreBounded(t *testing.T) {
	h := newHost(t, 0)
	a := h.rank(0)
	for job := range uint64(2 * keptPorts) {
		h.spawned(a, "port", 100+job)
	}
	if len(h.server.ports) != keptPorts {
		t.Errorf("%d ports", len(h.server.ports))
	}
}
