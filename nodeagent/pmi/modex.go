package pmi

import "time"

// keyTimeout is how long a get without a timeout of its own waits for a key of an owner that has
// committed other keys. libpmix's own server waits as long. If the owner has committed nothing,
// there is no such bound: programs that start at different times wait for each other.
const keyTimeout = 2 * time.Second

// Fetch asks for the keys of a rank: the direct modex.
type Fetch struct {
	Tag Tag
	// Job is the job of the rank, 0 for the caller's own.
	Job uint64
	// Of is the rank whose keys are wanted.
	Of int
	// Key must be in the answer; "" accepts any answer.
	Key string
	// Immediate returns the keys that are known here, without waiting.
	Immediate bool
	// Timeout bounds the wait; 0 leaves it to the engine.
	Timeout time.Duration
}

// fetch is a Fetch that waits.
type fetch struct {
	id uint64
	// rank and tag identify the caller here; for a fetch of another node, foreign is its number
	// there.
	rank    int
	tag     Tag
	from    address
	foreign uint64
	remote  bool

	job uint64 // 0: this one
	of  int
	key string
	// timeout is the requested one, deadline its end; asked is set after the owner's node was
	// asked.
	timeout  time.Duration
	deadline time.Time
	asked    bool
}

// fetches holds the waiting fetches by id.
type fetches struct {
	waiting map[uint64]*fetch
	lastID  uint64
	// foreign counts the fetches of other nodes.
	foreign int
}

// Fetch carries out a request of a rank here, or holds it until an EventCard answers. After Found,
// Card returns the keys. The error wraps ErrFull.
func (e *Engine) Fetch(now time.Time, rank int, f Fetch) (Outcome, error) {
	if f.Job == e.info.Job {
		f.Job = 0
	}
	if f.Job == 0 {
		if f.Of < 0 || f.Of >= e.Size() {
			return Missing, nil
		}
		if outcome := e.known(f.Of, f.Key); outcome != Held || f.Immediate {
			return settled(outcome), nil
		}
	} else if f.Immediate {
		return Missing, nil
	}
	if err := e.hold(rank); err != nil {
		return 0, err
	}
	w := e.wait(fetch{rank: rank, tag: f.Tag, job: f.Job, of: f.Of, key: f.Key, timeout: f.Timeout})
	if f.Timeout > 0 {
		w.deadline = now.Add(f.Timeout)
	}
	e.advanceFetch(now, w)
	return Held, nil
}

func (e *Engine) wait(f fetch) *fetch {
	if e.fetches.waiting == nil {
		e.fetches.waiting = make(map[uint64]*fetch)
	}
	e.fetches.lastID++
	f.id = e.fetches.lastID
	e.fetches.waiting[f.id] = &f
	return &f
}

// known returns the outcome of a fetch by what this node knows; Held if it may still come.
func (e *Engine) known(of int, key string) Outcome {
	c := e.store.cards[int32(of)]
	if c != nil && key == "" && (c.committed || !e.isLocal(of)) {
		return Found
	}
	if c != nil && key != "" {
		if _, ok := e.store.visible(int32(of), key, e.seenFrom(of)); ok {
			return Found
		}
	}
	if e.isLocal(of) && e.isDeparted(of) {
		return e.finalOutcome(c)
	}
	return Held
}

// finalOutcome returns the outcome for a rank that will commit nothing more: the client gets the
// committed keys, and finds its key missing.
func (e *Engine) finalOutcome(c *card) Outcome {
	if c != nil && c.committed {
		return Found
	}
	return Missing
}

func (e *Engine) isDeparted(rank int) bool {
	s := e.state(rank)
	return s.lost || s.gone && !s.survives || s.phase == PhaseFinalized
}

// advanceFetch takes the next possible step of a waiting fetch.
func (e *Engine) advanceFetch(now time.Time, w *fetch) {
	switch {
	case w.job != 0:
		e.advanceRemoteFetch(w)
	case !e.isLocal(w.of):
		e.askNode(w, address{e.info.Job, int(e.info.RankNode[w.of])})
	default:
		e.setDeadline(now, w)
	}
}

// setDeadline bounds the wait for a key that a committed card lacks.
func (e *Engine) setDeadline(now time.Time, w *fetch) {
	c := e.store.cards[int32(w.of)]
	if w.deadline.IsZero() && c != nil && c.committed {
		w.deadline = now.Add(keyTimeout)
	}
}

// onCommitted advances the fetches from a rank that has committed.
func (e *Engine) onCommitted(now time.Time, of int) {
	for _, w := range e.fetchesOf(of) {
		if e.known(of, w.key) == Found {
			e.answerFetch(w, Found, e.cardFor(w))
			continue
		}
		e.setDeadline(now, w)
	}
}

// cardFor returns a rank's card as the waiting process sees it.
func (e *Engine) cardFor(w *fetch) []KV {
	if w.remote {
		return e.cardSeen(w.of, ScopeRemote)
	}
	return e.cardSeen(w.of, ScopeNode)
}

// onNoCommit ends the fetches from a rank that will commit nothing more.
func (e *Engine) onNoCommit(of int) {
	for _, w := range e.fetchesOf(of) {
		outcome := e.finalOutcome(e.store.cards[int32(of)])
		e.answerFetch(w, outcome, e.cardFor(w))
	}
}

// fetchesOf lists the waiting fetches from a rank of this node, oldest first.
func (e *Engine) fetchesOf(of int) []*fetch {
	return e.someFetches(func(w *fetch) bool { return w.job == 0 && w.of == of })
}

// answerFetch ends a fetch with an answer to the rank or node that waits.
func (e *Engine) answerFetch(w *fetch, outcome Outcome, pairs []KV) {
	delete(e.fetches.waiting, w.id)
	if outcome != Found {
		pairs = nil
	}
	if w.remote {
		e.fetches.foreign--
		e.relay(w.from, relayed{kind: relayCard, id: w.foreign, outcome: outcome, pairs: pairs})
		return
	}
	e.state(w.rank).held--
	e.emit(Event{Kind: EventCard, Rank: w.rank, Tag: w.tag, Job: w.job, Of: w.of, Outcome: outcome, Pairs: pairs})
}

// Deadline returns when Tick must be called next; zero: never.
func (e *Engine) Deadline() time.Time {
	var first time.Time
	for _, w := range e.fetches.waiting {
		if !w.deadline.IsZero() && (first.IsZero() || w.deadline.Before(first)) {
			first = w.deadline
		}
	}
	return first
}

// Tick ends the waits whose time is over.
func (e *Engine) Tick(now time.Time) {
	over := e.someFetches(func(w *fetch) bool { return !w.deadline.IsZero() && !now.Before(w.deadline) })
	for _, w := range over {
		outcome := TimedOut
		if w.timeout == 0 && !w.remote {
			outcome = Missing
		}
		e.answerFetch(w, outcome, nil)
	}
}
