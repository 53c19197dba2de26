package pmix

import (
	"score/nodeagent/pmi"
	"score/nodeagent/pmi/pmix/bfrops"
	"score/nodeagent/pmi/pmix/message"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func nameOf(job uint64) string { return "score_" + strconv.FormatUint(job, 10) }

func numberOf(name string) (uint64, bool) {
	digits, ok := strings.CutPrefix(name, "score_")
	job, err := strconv.ParseUint(digits, 10, 64)
	return job, ok && err == nil
}

// host is a server with clients, and what it has asked the steward for.
type host struct {
	t       testing.TB
	now     time.Time
	server  *Server
	tasks   []Effect
	replies map[ConnID][]byte
	closed  map[ConnID]bool
	deny    bool
}

// newHost serves node 0 of job 7.
func newHost(t testing.TB, rankNode ...int32) *host {
	t.Helper()
	names := []string{"n0", "n1"}[:slices.Max(rankNode)+1]
	return hostOf(t, Config{Job: 7, NodeNames: names, RankNode: rankNode})
}

// hostOf serves the first node of a job.
func hostOf(t testing.TB, config Config) *host {
	t.Helper()
	engine, err := pmi.NewEngine(pmi.JobInfo{Job: config.Job, KVSName: nameOf(config.Job), RankNode: config.RankNode})
	if err != nil {
		t.Fatal(err)
	}
	config.NameOf, config.NumberOf = nameOf, numberOf
	config.Hardware = func() string { return "" }
	server := NewServer(engine, config)
	return &host{t: t, now: time.Unix(1000, 0), server: server, replies: make(map[ConnID][]byte), closed: make(map[ConnID]bool)}
}

func (h *host) obey(effects []Effect) {
	for _, e := range append([]Effect(nil), effects...) {
		switch e.Kind {
		case Write:
			h.replies[e.Conn] = append(h.replies[e.Conn], e.Bytes...)
		case Close:
			h.closed[e.Conn] = true
		case Authenticate:
			h.obey(h.server.Admit(e.Conn, !h.deny))
		default:
			h.tasks = append(h.tasks, e)
		}
	}
}

func (h *host) feed(id ConnID, data []byte) { h.obey(h.server.Feed(h.now, id, data)) }

// task returns the first task of a kind, and forgets those before.
func (h *host) task(kind Kind) *Effect {
	h.t.Helper()
	for i := range h.tasks {
		if h.tasks[i].Kind == kind {
			e := h.tasks[i]
			h.tasks = h.tasks[i+1:]
			return &e
		}
	}
	h.t.Fatalf("no task of kind %d", kind)
	return nil
}

// violation is the sentence by which the job was ended; "": it goes on.
func (h *host) violation() string {
	for _, e := range h.tasks {
		if e.Kind == Violation {
			return e.Err.Error()
		}
	}
	return ""
}

// client is one rank.
type client struct {
	h        *host
	id       ConnID
	rank     int
	encoding bfrops.Encoding
	tag      uint32
}

func hello(rank int) message.Hello {
	return message.Hello{
		Security: "native", Credential: make([]byte, 8), Namespace: nameOf(7), Rank: uint32(rank),
		Version: "4.2.2", Encoding: "v41", BufferKind: bfrops.NotDescribed, Store: "hash",
	}
}

// greet connects with a hello and returns what came back.
func (h *host) sendHello(m message.Hello) (ConnID, []byte) {
	h.t.Helper()
	id, ok := h.server.Accept()
	if !ok {
		h.t.Fatal("too many connections")
	}
	h.feed(id, m.Append(nil))
	reply := h.replies[id]
	h.replies[id] = nil
	return id, reply
}

// rank connects as a rank.
func (h *host) rank(rank int) *client { return h.rankIn(rank, bfrops.V41) }

func (h *host) rankIn(rank int, encoding bfrops.Encoding) *client {
	h.t.Helper()
	m := hello(rank)
	m.Encoding = encoding.String()
	id, reply := h.sendHello(m)
	if string(reply) != string(message.AppendWelcome(nil, uint32(rank))) {
		h.t.Fatalf("rank %d was answered %q", rank, reply)
	}
	return &client{h: h, id: id, rank: rank, encoding: encoding, tag: 99}
}

// send sends a request.
func (c *client) send(command message.Command, write func(*bfrops.Writer)) {
	c.h.t.Helper()
	w := bfrops.NewWriter(c.encoding, nil)
	w.One(bfrops.NewNumber(bfrops.Command, uint64(command)))
	if write != nil {
		write(w)
	}
	c.tag++
	c.h.feed(c.id, append(message.Header{Tag: c.tag, Length: uint32(len(w.Bytes()))}.Append(nil), w.Bytes()...))
}

// reply takes the next message; nil: there is none.
func (c *client) reply() (tag uint32, r *bfrops.Reader) {
	c.h.t.Helper()
	data := c.h.replies[c.id]
	if len(data) == 0 {
		return 0, nil
	}
	header := message.ReadHeader(data)
	c.h.replies[c.id] = data[message.HeaderLen+header.Length:]
	return header.Tag, bfrops.NewReader(c.encoding, data[message.HeaderLen:message.HeaderLen+header.Length])
}

// status takes the next message as a status.
func (c *client) status(want int32) {
	c.h.t.Helper()
	_, r := c.reply()
	if r == nil {
		c.h.t.Fatalf("rank %d has no reply", c.rank)
	}
	if code := message.ReadStatus(r); code != want || r.Err() != nil {
		c.h.t.Fatalf("rank %d: status %d (%v), want %d", c.rank, code, r.Err(), want)
	}
}

func (c *client) waits() {
	c.h.t.Helper()
	if tag, r := c.reply(); r != nil {
		c.h.t.Fatalf("rank %d was answered request %d too early", c.rank, tag)
	}
}

func (c *client) commit(scope uint8, keys ...string) {
	c.h.t.Helper()
	part := message.CommitPart{Scope: scope}
	for _, key := range keys {
		v := bfrops.NewString("value of " + key)
		part.Pairs = append(part.Pairs, message.Pair{Key: key, Packed: message.Pack(&v)})
	}
	c.send(message.Commit, func(w *bfrops.Writer) { message.WriteCommit(w, []message.CommitPart{part}) })
	c.status(message.Success)
}

func (c *client) fence(procs ...bfrops.Proc) {
	c.h.t.Helper()
	m := message.Collective{Procs: procs, Infos: bfrops.Infos{{Key: message.KeyCollect, Value: bfrops.NewBool(true)}}}
	c.send(message.Fence, m.Write)
}

func (c *client) get(rank uint32, key string, infos ...bfrops.Info) {
	c.h.t.Helper()
	m := message.GetRequest{Proc: bfrops.Proc{Namespace: nameOf(7), Rank: rank}, Key: key, Infos: infos}
	c.send(message.Get, m.Write)
}

// card takes the next message as the keys of a rank.
func (c *client) card() map[string]string {
	c.h.t.Helper()
	_, r := c.reply()
	if r == nil {
		c.h.t.Fatalf("rank %d has no reply", c.rank)
	}
	code, _, pairs := message.ReadCard(r)
	if code != message.Success || r.Err() != nil {
		c.h.t.Fatalf("rank %d: status %d, %v", c.rank, code, r.Err())
	}
	keys := make(map[string]string)
	for _, pair := range pairs {
		v, err := message.Unpack(pair.Packed)
		if err != nil {
			c.h.t.Fatal(err)
		}
		keys[pair.Key] = v.Text
	}
	return keys
}

var wholeJob = bfrops.Proc{Namespace: nameOf(7), Rank: bfrops.Wildcard}
