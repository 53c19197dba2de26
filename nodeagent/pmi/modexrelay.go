package pmi

import "time"

// address identifies a node of a job.
type address struct {
	job  uint64
	node int
}

// maxForeign bounds the waiting fetches of other nodes: some for each rank of the largest jobs.
const maxForeign = 1 << 16

func (e *Engine) advanceRemoteFetch(w *fetch) {
	other, err := e.otherJob(w.job)
	switch {
	case err != nil || other.failed || other.placed() && (w.of < 0 || w.of >= len(other.rankNode)):
		e.answerFetch(w, Missing, nil)
	case other.placed():
		e.askNode(w, address{w.job, int(other.rankNode[w.of])})
	}
}

func (e *Engine) askNode(w *fetch, at address) {
	if w.asked {
		return
	}
	w.asked = true
	e.relay(at, relayed{kind: relayFetch, id: w.id, rank: w.of, key: w.key, timeout: w.timeout})
}

// onFetch handles a fetch of another node.
func (e *Engine) onFetch(now time.Time, from address, m *relayed) error {
	refuse := func() error {
		e.relay(from, relayed{kind: relayCard, id: m.id, outcome: Missing})
		return nil
	}
	if m.rank < 0 || m.rank >= e.Size() || !e.isLocal(m.rank) {
		return refuse()
	}
	w := fetch{from: from, foreign: m.id, remote: true, of: m.rank, key: m.key}
	if outcome := e.knownRemotely(m.rank, m.key); outcome != Held {
		e.relay(from, relayed{kind: relayCard, id: m.id, outcome: outcome, pairs: e.cardIf(outcome, m.rank)})
		return nil
	}
	if e.fetches.foreign == maxForeign {
		return refuse()
	}
	e.fetches.foreign++
	held := e.wait(w)
	if m.timeout > 0 {
		held.deadline = now.Add(m.timeout)
	}
	e.setDeadline(now, held)
	return nil
}

func (e *Engine) cardIf(outcome Outcome, of int) []KV {
	if outcome != Found {
		return nil
	}
	return e.cardSeen(of, ScopeRemote)
}

// knownRemotely is like known, but with the keys that other nodes may see.
func (e *Engine) knownRemotely(of int, key string) Outcome {
	c := e.store.cards[int32(of)]
	_, has := e.store.visible(int32(of), key, ScopeRemote)
	switch {
	case c != nil && c.committed && (key == "" || has):
		return Found
	case e.isDeparted(of):
		return e.finalOutcome(c)
	}
	return Held
}

// onCard handles another node's answer to a fetch.
func (e *Engine) onCard(m *relayed) {
	if w := e.fetches.waiting[m.id]; w != nil && !w.remote {
		e.answerFetch(w, m.outcome, m.pairs)
	}
}
