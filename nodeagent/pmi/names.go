package pmi

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Name emits a request to the name table as EventNameOp; NameResult answers it.
func (e *Engine) Name(rank int, tag Tag, kind NameKind, service, port []byte) error {
	if len(service) == 0 {
		return fmt.Errorf("%w: an empty service name", ErrMalformed)
	}
	if len(service) > MaxValue || len(port) > MaxValue {
		return fmt.Errorf("%w: a service name or port above %d bytes", ErrTooLong, MaxValue)
	}
	op := NameOp{Kind: kind, Service: string(service), Port: string(port)}
	id, err := e.ask(waiter{rank: rank, tag: tag, op: op, bytes: len(op.Service) + len(op.Port)})
	if err != nil {
		return err
	}
	op.ID = id
	e.emit(Event{Kind: EventNameOp, Rank: rank, Name: op})
	return nil
}

// NameResult answers a NameOp. If ok, text is the port that a lookup found. If not, text says which
// limit the request would exceed, or is empty if the name is taken (publish) or unknown (lookup,
// unpublish). Unknown ids are ignored, since a rank may end while its request is under way.
func (e *Engine) NameResult(id uint64, ok bool, text string) {
	w, found := e.answered(id)
	if !found || w.op.Kind == 0 {
		return
	}
	maxPort := MaxValue
	if e.protocol == ProtocolPMIx {
		maxPort = MaxPublished
	}
	if len(text) > maxPort {
		ok, text = false, ""
	}
	e.emit(Event{Kind: EventNameAnswer, Rank: w.rank, Tag: w.tag, Name: w.op, OK: ok, Value: text})
}

// Spawn emits a request for new processes as EventSpawn; SpawnResult answers it.
func (e *Engine) Spawn(rank int, tag Tag, request *SpawnRequest) error {
	if len(request.Apps) == 0 {
		return fmt.Errorf("%w: a spawn of no command", ErrMalformed)
	}
	for i := range request.Apps {
		if app := &request.Apps[i]; app.Command == "" || app.MaxProcs < 1 {
			return fmt.Errorf("%w: a spawn of %d processes of %q", ErrMalformed, app.MaxProcs, app.Command)
		}
	}
	size, err := request.checkTexts()
	if err != nil {
		return err
	}
	for key, value := range request.Preput {
		if err := checkPair([]byte(key), []byte(value)); err != nil {
			return err
		}
	}
	id, err := e.ask(waiter{rank: rank, tag: tag, bytes: size})
	if err != nil {
		return err
	}
	request.ID = id
	e.emit(Event{Kind: EventSpawn, Rank: rank, Spawn: request})
	return nil
}

// checkTexts refuses texts that no process can get or that are too long for the cluster's log. It
// returns the length of all texts, which need not be UTF-8.
func (r *SpawnRequest) checkTexts() (int, error) {
	bytes, bad := 0, false
	add := func(texts ...string) {
		for _, t := range texts {
			bytes += len(t) + 1
			bad = bad || strings.IndexByte(t, 0) >= 0
		}
	}
	for i := range r.Apps {
		app := &r.Apps[i]
		add(app.Command)
		add(app.Args...)
		add(app.Env...)
		for _, hint := range app.Info {
			add(hint.Key, hint.Value)
		}
	}
	switch {
	case bad:
		return 0, fmt.Errorf("%w: a spawn with a zero byte in a text", ErrMalformed)
	case bytes > MaxSpawnBytes:
		return 0, fmt.Errorf("%w: a spawn of %d bytes, the most is %d", ErrTooLong, bytes, MaxSpawnBytes)
	}
	return bytes, nil
}

// SpawnResult answers a SpawnRequest. An unknown id is ignored.
func (e *Engine) SpawnResult(id uint64, result SpawnResult) {
	w, found := e.answered(id)
	if !found || w.op.Kind != 0 {
		return
	}
	e.emit(Event{Kind: EventSpawnAnswer, Rank: w.rank, Tag: w.tag, Result: &result})
}

// ask records a request whose answer comes from outside, and returns its id.
func (e *Engine) ask(w waiter) (uint64, error) {
	if len(e.pending) == MaxAsked || e.pendingBytes+w.bytes > MaxAskedBytes {
		return 0, fmt.Errorf("%w: the ranks on the node wait for %d answers about names and new processes", ErrFull, len(e.pending))
	}
	if err := e.hold(w.rank); err != nil {
		return 0, err
	}
	e.lastID++
	e.pending[e.lastID] = w
	e.pendingBytes += w.bytes
	return e.lastID, nil
}

// StopWaiting asks again, without waiting, for names that are looked up and that nobody will
// publish.
func (e *Engine) StopWaiting(gone func(service string) bool) {
	for _, id := range slices.Sorted(maps.Keys(e.pending)) {
		w := e.pending[id]
		if w.op.Kind != NameLookup || !w.op.Wait || !gone(w.op.Service) {
			continue
		}
		w.op.Wait = false
		e.pending[id] = w
		op := w.op
		op.ID = id
		e.emit(Event{Kind: EventNameOp, Rank: w.rank, Name: op})
	}
}

// answered removes a request from pending.
func (e *Engine) answered(id uint64) (waiter, bool) {
	w, ok := e.pending[id]
	if !ok {
		return waiter{}, false
	}
	e.forgetPending(id, w)
	e.state(w.rank).held--
	return w, true
}

func (e *Engine) forgetPending(id uint64, w waiter) {
	delete(e.pending, id)
	e.pendingBytes -= w.bytes
}

// AskName is like Name, for an operation with options.
func (e *Engine) AskName(rank int, tag Tag, op NameOp) error {
	switch {
	case op.Service == "":
		return fmt.Errorf("%w: an empty service name", ErrMalformed)
	case len(op.Service) > MaxCardKey+maxNamePrefix:
		return fmt.Errorf("%w: a name of %d bytes", ErrTooLong, len(op.Service))
	case len(op.Port) > MaxPublished:
		return fmt.Errorf("%w: %d bytes are published, the most is %d", ErrTooLong, len(op.Port), MaxPublished)
	}
	id, err := e.ask(waiter{rank: rank, tag: tag, op: op, bytes: len(op.Service) + len(op.Port)})
	if err != nil {
		return err
	}
	op.ID = id
	e.emit(Event{Kind: EventNameOp, Rank: rank, Name: op})
	return nil
}
