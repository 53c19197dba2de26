package pmi

import (
	"testing"
	"time"
)

// world is the engines of some jobs, joined by messages that arrive in the order
// of sending, or in that which a test draws.
type world struct {
	t       testing.TB
	now     time.Time
	engines map[address]*Engine
	places  map[uint64]Places
	// answers are the events for ranks, in order.
	answers []Event
	relays  []Event
	from    []address
	// order picks the next of n messages; nil: the first.
	order func(n int) int
	// blocks gathers the data of a fence, by job.
	blocks map[uint64][][]byte
	lost   map[address]bool
}

func newWorld(t testing.TB) *world {
	return &world{
		t: t, now: time.Unix(1000, 0), engines: make(map[address]*Engine), places: make(map[uint64]Places),
		blocks: make(map[uint64][][]byte), lost: make(map[address]bool),
	}
}

// job adds a job; all its ranks are initialised.
func (w *world) job(id uint64, rankNode ...int32) {
	w.t.Helper()
	nodes := int32(0)
	for _, node := range rankNode {
		nodes = max(nodes, node+1)
	}
	p := Places{Job: id, RankNode: rankNode}
	for node := range int(nodes) {
		e, err := NewEngine(JobInfo{Job: id, KVSName: "job", RankNode: rankNode, NodeIndex: node})
		if err != nil {
			w.t.Fatal(err)
		}
		w.engines[address{id, node}] = e
		p.NodeNames = append(p.NodeNames, "n")
		for _, rank := range e.LocalRanks() {
			if err := e.Init(rank); err != nil {
				w.t.Fatal(err)
			}
		}
		e.Events()
	}
	w.places[id] = p
}

func (w *world) of(job uint64, rank int) (*Engine, address) {
	at := address{job, int(w.places[job].RankNode[rank])}
	return w.engines[at], at
}

// do has an engine do something and carries everything out that follows.
func (w *world) do(job uint64, rank int, f func(*Engine) error) {
	w.t.Helper()
	e, at := w.of(job, rank)
	if err := f(e); err != nil {
		w.t.Fatalf("job %d rank %d: %v", job, rank, err)
	}
	w.collect(at)
	w.run()
}

func (w *world) collect(at address) {
	for _, event := range append([]Event(nil), w.engines[at].Events()...) {
		switch event.Kind {
		case EventRelay:
			w.relays, w.from = append(w.relays, event), append(w.from, at)
		case EventPlaces:
			p := w.places[event.Job]
			p.Job = event.Job
			w.engines[at].PlacesResult(p)
			w.collect(at)
		case EventFenceReady:
			w.blocks[at.job] = append(w.blocks[at.job], event.Data)
			w.fence(at.job, event.Seq)
		default:
			if event.Job == 0 {
				event.Job = at.job // so that answers tell their job
			}
			w.answers = append(w.answers, event)
		}
	}
}

// fence ends a fence to which all nodes have come.
func (w *world) fence(job, seq uint64) {
	if len(w.blocks[job]) < len(w.places[job].NodeNames) {
		return
	}
	var all []byte
	for _, block := range w.blocks[job] {
		all = append(all, block...)
	}
	delete(w.blocks, job)
	for node := range w.places[job].NodeNames {
		at := address{job, node}
		if err := w.engines[at].FenceDone(seq, all); err != nil {
			w.t.Fatal(err)
		}
		w.collect(at)
	}
}

// run delivers messages until there are none.
func (w *world) run() {
	for len(w.relays) > 0 {
		i := 0
		if w.order != nil {
			i = w.order(len(w.relays))
		}
		m, from := w.relays[i], w.from[i]
		w.relays = append(w.relays[:i], w.relays[i+1:]...)
		w.from = append(w.from[:i], w.from[i+1:]...)
		to := address{m.Job, m.Node}
		if w.engines[to] == nil || w.lost[to] {
			w.engines[from].RelayFailed(m.Job, m.Node, m.Data)
			w.collect(from)
			continue
		}
		if err := w.engines[to].Relayed(w.now, from.job, from.node, m.Data); err != nil {
			w.t.Fatal(err)
		}
		w.collect(to)
	}
}

// take returns the answers so far and forgets them.
func (w *world) take() []Event {
	answers := w.answers
	w.answers = nil
	return answers
}
