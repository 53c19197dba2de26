package pmix

import (
	"encoding/binary"
	"score/nodeagent/pmi"
	"score/nodeagent/pmi/pmix/bfrops"
	"score/nodeagent/pmi/pmix/message"
	"strings"
	"testing"
	"time"
)

func TestLifeOfAJob(t *testing.T) {
	for _, encodings := range [][2]bfrops.Encoding{{bfrops.V41, bfrops.V41}, {bfrops.V3, bfrops.V3}, {bfrops.V41, bfrops.V3}} {
		h := newHost(t, 0, 0)
		a, b := h.rankIn(0, encodings[0]), h.rankIn(1, encodings[1])
		for _, c := range []*client{a, b} {
			c.send(message.JobInfo, nil)
			_, r := c.reply()
			if name, keys := message.ReadJob(r); name != "score_7" || keys["pmix.job.size"][0].Number != 2 || r.Err() != nil {
				t.Fatalf("job info of %s: %v, %v", name, keys, r.Err())
			}
		}
		b.get(0, "k0") // before it is there
		b.waits()
		a.commit(message.ScopeNode, "k0", "k1")
		if got := b.card(); got["k0"] != "value of k0" || got["k1"] != "value of k1" {
			t.Fatal(got)
		}
		b.commit(message.ScopeRemote, "far")
		a.fence(wholeJob)
		a.waits()
		b.fence(bfrops.Proc{Namespace: "score_7", Rank: 1}, bfrops.Proc{Namespace: "score_7", Rank: 0})
		a.status(message.Success)
		b.status(message.Success)
		a.get(1, "")
		if got := a.card(); len(got) != 0 {
			t.Fatalf("keys for other nodes were seen: %v", got)
		}
		for _, c := range []*client{a, b} {
			c.send(message.Finalize, nil)
			c.status(message.Success)
			h.task(Finalized)
			if rank, phase, ok, _ := h.server.OnDisconnected(h.now, c.id); rank != c.rank || phase != pmi.PhaseFinalized || !ok {
				t.Errorf("rank %d left in phase %d", rank, phase)
			}
		}
		if v := h.violation(); v != "" {
			t.Error(v)
		}
	}
}

func TestGetEnds(t *testing.T) {
	h := newHost(t, 0, 0)
	a := h.rank(0)
	h.rank(1)
	flag := bfrops.Info{Key: message.KeyImmediate, Value: bfrops.NewBool(true)}
	a.get(1, "k", flag)
	a.status(message.ErrNotFound)
	a.get(5, "k")
	a.status(message.ErrNotFound)
	a.get(1, "pmix.hwlocxml2")
	a.status(message.ErrNotFound)
	a.get(bfrops.Wildcard, "x")
	a.status(message.ErrNotFound)
	a.get(1, "k", bfrops.Info{Key: message.KeyTimeout, Value: bfrops.Value{Type: bfrops.Int, Number: 3}})
	a.waits()
	if d := h.server.Deadline(); !d.Equal(h.now.Add(3 * time.Second)) {
		t.Fatalf("deadline %v", d)
	}
	h.now = h.now.Add(3 * time.Second)
	h.obey(h.server.Tick(h.now))
	a.status(message.ErrTimeout)
}

// TestOtherJob is for what the system knows of a job that was spawned, or is connected: its places
// are asked for once.
func TestOtherJob(t *testing.T) {
	h := newHost(t, 0)
	a := h.rank(0)
	for i, m := range []message.GetRequest{
		{Proc: bfrops.Proc{Namespace: nameOf(8), Rank: bfrops.Wildcard}, Key: "pmix.job.size"},
		{Proc: bfrops.Proc{Namespace: nameOf(8), Rank: 1}, Key: "pmix.lrank"},
	} {
		a.send(message.Get, m.Write)
		if i == 0 {
			if e := h.task(Event).Event; e.Kind != pmi.EventPlaces || e.Job != 8 {
				t.Fatalf("%+v", e)
			}
			a.waits()
			h.obey(h.server.Do(h.now, func(e *pmi.Engine) error {
				e.PlacesResult(pmi.Places{Job: 8, RankNode: []int32{0, 0}, NodeNames: []string{"n5"}})
				return nil
			}))
		}
		_, r := a.reply()
		if r == nil {
			t.Fatalf("get %s has no reply", m.Key)
		}
		code, of, pairs := message.ReadCard(r)
		if code != message.Success || of.Namespace != nameOf(8) || of.Rank != bfrops.Wildcard || len(pairs) == 0 || pairs[0].Key != "pmix.job.size" ||
			r.Err() != nil {
			t.Errorf("get %s: %d of %v, %v, %v", m.Key, code, of, pairs, r.Err())
		}
	}
}

// TestRefused is for greetings that end the connection and not the job.
func TestRefused(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*message.Hello)
		code   int32
	}{
		"another job":    {func(m *message.Hello) { m.Namespace = "score_8" }, message.ErrNotFound},
		"no such rank":   {func(m *message.Hello) { m.Rank = 9 }, message.ErrNotFound},
		"wildcard":       {func(m *message.Hello) { m.Rank = bfrops.Wildcard }, message.ErrNotFound},
		"another node's": {func(m *message.Hello) { m.Rank = 2 }, message.ErrNotFound},
		"a tool":         {func(m *message.Hello) { m.Flag = 3 }, message.ErrNotFound},
		"twice":          {func(m *message.Hello) { m.Rank = 0 }, message.ErrExists},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, 0, 0, 1)
			a := h.rank(0)
			m := hello(1)
			test.change(&m)
			id, reply := h.sendHello(m)
			if string(reply) != string(message.AppendRefusal(nil, test.code)) || h.closed[id] || h.violation() != "" {
				t.Fatalf("%q, closed %v, %s", reply, h.closed[id], h.violation())
			}
			if h.feed(id, []byte("its first request")); !h.closed[id] {
				t.Fatal("a refused client is left waiting")
			}
			a.get(0, "k", bfrops.Info{Key: message.KeyImmediate, Value: bfrops.NewBool(true)})
			a.status(message.ErrNotFound) // it goes on
		})
	}
	t.Run("another process", func(t *testing.T) {
		h := newHost(t, 0)
		h.deny = true
		if _, reply := h.sendHello(hello(0)); string(reply) != string(message.AppendRefusal(nil, message.ErrCredential)) {
			t.Fatalf("%q", reply)
		}
		h.deny = false
		h.rank(0)
	})
	t.Run("unknown encoding", func(t *testing.T) {
		h := newHost(t, 0)
		m := hello(0)
		m.Encoding, m.Version = "v99", "9.9.9"
		h.sendHello(m)
		if v := h.violation(); !strings.Contains(v, `libpmix 9.9.9 writes "v99"`) {
			t.Fatal(v)
		}
	})
	t.Run("munge", func(t *testing.T) {
		h := newHost(t, 0)
		m := hello(0)
		m.Security, m.Version = "munge", "5.0.11"
		_, reply := h.sendHello(m)
		if v := h.violation(); !strings.Contains(v, `rank 0`) || !strings.Contains(v, `libpmix 5.0.11 proves who it is by "munge"`) ||
			string(reply) != string(message.AppendRefusal(nil, message.ErrUnsupported)) {
			t.Fatalf("%q, %s", reply, v)
		}
	})
	t.Run("an impostor's encoding", func(t *testing.T) {
		h := newHost(t, 0)
		h.deny = true
		m := hello(0)
		m.Encoding = "v99"
		h.sendHello(m)
		if v := h.violation(); v != "" {
			t.Fatal(v)
		}
	})
	t.Run("noise", func(t *testing.T) {
		h := newHost(t, 0)
		id, _ := h.server.Accept()
		h.feed(id, []byte(strings.Repeat("noise", 20)))
		h.feed(id, []byte("more"))
		if !h.closed[id] || h.violation() != "" {
			t.Fatalf("closed %v, %q", h.closed[id], h.violation())
		}
		h.rank(0)
	})
	t.Run("too many", func(t *testing.T) {
		h := newHost(t, 0)
		for range MaxConns {
			if _, ok := h.server.Accept(); !ok {
				t.Fatal("refused too early")
			}
		}
		if _, ok := h.server.Accept(); ok {
			t.Fatal("not refused")
		}
		h.server.OnDisconnected(h.now, 1)
		h.rank(0)
	})
}

// TestBadInput is for what ends the job, in one sentence that names the rank.
func TestBadInput(t *testing.T) {
	raw := func(payload string) func(*client) {
		return func(c *client) {
			c.h.feed(c.id, append(message.Header{Tag: 1, Length: uint32(len(payload))}.Append(nil), payload...))
		}
	}
	big := func(c *client) {
		v := bfrops.NewBytes(make([]byte, 9<<20))
		for _, key := range []string{"a", "b"} {
			part := message.CommitPart{Scope: message.ScopeGlobal, Pairs: []message.Pair{{Key: key, Packed: message.Pack(&v)}}}
			c.send(message.Commit, func(w *bfrops.Writer) { message.WriteCommit(w, []message.CommitPart{part}) })
		}
	}
	for name, test := range map[string]struct {
		do   func(*client)
		want string
	}{
		"empty":            {raw(""), "malformed"},
		"cut":              {raw("\x02\x03\x02\x01\x02\x1c"), "malformed"},
		"lying count":      {raw("\x02\x03\x02\xff\xff\xff\xff\x0f"), "announces 4294967295 values"},
		"lying string":     {raw("\x02\x04\x02\xfe\xff\xff\xff\x0fa"), "malformed"},
		"two commands":     {raw("\x04\x00\x00"), "count of 2"},
		"scope":            {raw("\x02\x02\x02\x09\x02\x01\x06\x02\x04a\x00\x01\x01"), "scope 9"},
		"too long":         {func(c *client) { c.h.feed(c.id, message.Header{Tag: 1, Length: 100 << 20}.Append(nil)) }, "a PMIx message of 104857600 bytes"},
		"more than a rank": {big, "rank 0 stores"},
		"endless key": {func(c *client) {
			v := bfrops.NewBool(true)
			c.send(message.Commit, func(w *bfrops.Writer) {
				message.WriteCommit(w, []message.CommitPart{{Scope: 1, Pairs: []message.Pair{{Key: strings.Repeat("k", 600), Packed: message.Pack(&v)}}}})
			})
		}, "a key of 600 bytes"},
		"after finalize": {func(c *client) { c.send(message.Finalize, nil); c.send(message.JobInfo, nil) }, "after finalize"},
		"fence twice":    {func(c *client) { c.fence(wholeJob); c.fence(wholeJob) }, "second fence"},
		"lookup storm": {func(c *client) {
			m := message.LookupRequest{Keys: []string{"never"}, Infos: bfrops.Infos{{Key: message.KeyWait, Value: bfrops.Value{Type: bfrops.Int}}}}
			for range pmi.MaxHeld + 1 {
				c.send(message.Lookup, m.Write)
			}
		}, "requests wait for an answer"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, 0, 0)
			test.do(h.rank(0))
			if v := h.violation(); !strings.Contains(v, "rank 0") || !strings.Contains(v, test.want) || strings.Contains(v, "\n") {
				t.Fatalf("%q", v)
			}
		})
	}
}

// TestNotServed is for requests that are answered so, and end nothing.
func TestNotServed(t *testing.T) {
	h := newHost(t, 0, 0)
	c := h.rank(0)
	c.send(message.GroupJoin, nil)
	c.status(message.ErrUnsupported)
	for _, procs := range [][]bfrops.Proc{nil, {{Namespace: "nobody", Rank: 0}}, {{Namespace: "score_7", Rank: 1}}} {
		c.send(message.GroupConstruct, (&message.Group{Name: "g", Collective: message.Collective{Procs: procs}}).Write)
		c.status(message.ErrBadParam)
	}
	c.send(message.Command(200), nil)
	c.status(message.ErrUnsupported)
	c.send(message.Commit, func(w *bfrops.Writer) { // a value of a type that does not exist
		w.Raw("\x02\x02\x02\x01\x08\x02\x04a\x00\x35x\x00\x00")
	})
	c.status(message.ErrUnknownType)
	c.fence(bfrops.Proc{Namespace: "elsewhere", Rank: 1})
	c.status(message.ErrBadParam)
	c.fence()
	c.status(message.ErrBadParam)
	c.fence(bfrops.Proc{Namespace: nameOf(7), Rank: 1}) // without the caller
	c.status(message.ErrBadParam)
	m := message.LookupRequest{}
	c.send(message.Lookup, m.Write)
	c.status(message.ErrBadParam)
	if v := h.violation(); v != "" {
		t.Fatal(v)
	}
}

// TestFenceOfTheDead is for a fence that some rank never joins.
func TestFenceOfTheDead(t *testing.T) {
	h := newHost(t, 0, 0, 0)
	a, b := h.rank(0), h.rank(1)
	h.rank(2)
	a.fence(wholeJob)
	_, phase, _, effects := h.server.OnDisconnected(h.now, b.id)
	h.obey(effects)
	if phase != pmi.PhaseActive {
		t.Fatalf("phase %d", phase) // the steward ends the job for that
	}
	c := h.tasks
	h.tasks = c[:0]
	h2 := newHost(t, 0, 0)
	a2 := h2.rank(0)
	a2.fence(wholeJob)
	h2.obey(h2.server.OnNeverConnected(h2.now, 1)) // never connected
	if v := h2.violation(); !strings.Contains(v, "rank 1 has ended while rank 0 waits") {
		t.Fatalf("%q", v)
	}
}

// TestPieces feeds a conversation byte by byte.
func TestPieces(t *testing.T) {
	h := newHost(t, 0)
	id, _ := h.server.Accept()
	m := hello(0)
	data := m.Append(nil)
	w := bfrops.NewWriter(bfrops.V41, nil)
	w.One(bfrops.NewNumber(bfrops.Command, uint64(message.Finalize)))
	data = append(message.Header{Tag: 5, Length: uint32(len(w.Bytes()))}.Append(data), w.Bytes()...)
	for i := range data {
		h.feed(id, data[i:i+1])
	}
	want := message.AppendWelcome(nil, 0)
	if got := h.replies[id]; len(got) <= len(want) || binary.BigEndian.Uint32(got[len(want)+4:]) != 5 || h.server.pending != 0 {
		t.Fatalf("%q, %d bytes pending", got, h.server.pending)
	}
}

func TestHardware(t *testing.T) {
	for _, encoding := range []bfrops.Encoding{bfrops.V41, bfrops.V3} {
		h := newHost(t, 0)
		a := h.rankIn(0, encoding)
		text := ""
		h.server.config.Hardware = func() string { return text }
		ask := func(of bfrops.Proc) {
			a.send(message.Get, (&message.GetRequest{Proc: of, Key: message.KeyHardware}).Write)
		}
		job := bfrops.Proc{Namespace: "score_7", Rank: bfrops.Wildcard}
		ask(job)
		a.status(message.ErrNotFound)
		text = "<topology/>"
		ask(job)
		_, r := a.reply()
		code, of, pairs := message.ReadCard(r)
		want := bfrops.NewString(text)
		if r.Err() != nil || code != message.Success || of != job || len(pairs) != 1 ||
			pairs[0] != (message.Pair{Key: message.KeyHardware, Packed: message.Pack(&want)}) {
			t.Errorf("%v, %d, %v, %q", r.Err(), code, of, pairs)
		}
	}
}

func TestSpawn(t *testing.T) {
	h := newHost(t, 0)
	a := h.rank(0)
	m := message.SpawnRequest{Apps: []bfrops.App{{
		Command: "./kid", Args: []string{"./kid", "a b"}, Env: []string{"X=1"},
		Dir: "/home", MaxProcs: 2, Infos: bfrops.Infos{{Key: message.KeyWorkDir, Value: bfrops.NewString("/tmp")}},
	}}}
	a.send(message.Spawn, m.Write)
	request := h.task(Event).Event.Spawn
	app := request.Apps[0]
	if app.Command != "./kid" || len(app.Args) != 1 || app.Args[0] != "a b" || app.MaxProcs != 2 || app.Env[0] != "X=1" ||
		len(app.Info) != 1 || app.Info[0] != (pmi.KV{Key: "wdir", Value: "/tmp"}) {
		t.Fatalf("%+v", app)
	}
	h.obey(h.server.Do(h.now, func(e *pmi.Engine) error { e.SpawnResult(request.ID, pmi.SpawnResult{KVSName: "score_8"}); return nil }))
	_, r := a.reply()
	if code, name := message.ReadSpawned(r); code != message.Success || name != "score_8" {
		t.Fatal(code, name)
	}
	a.send(message.Spawn, (&message.SpawnRequest{}).Write)
	a.status(message.ErrBadParam)
}

func FuzzServer(f *testing.F) {
	m := hello(0)
	f.Add(m.Append(nil), []byte("\x02\x00"))
	f.Add(m.Append(nil), []byte("\x02\x03\x02\x01\x02\x10score_7\x00\xfe\xff\xff\xff\x0f\x02\x00"))
	f.Add(m.Append(nil)[:20], []byte{})
	f.Fuzz(func(t *testing.T, greeting, payload []byte) {
		h := newHost(t, 0, 1)
		id, _ := h.server.Accept()
		h.feed(id, greeting)
		h.feed(id, append(message.Header{Tag: 7, Length: uint32(len(payload))}.Append(nil), payload...))
		h.obey(h.server.Tick(h.now.Add(time.Hour)))
		_, _, _, effects := h.server.OnDisconnected(h.now, id)
		h.obey(effects)
		if h.server.pending != 0 || h.server.hello != 0 {
			t.Errorf("%d bytes and %d connections are still counted", h.server.pending, h.server.hello)
		}
	})
}
