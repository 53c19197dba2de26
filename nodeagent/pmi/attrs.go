package pmi

import (
	"fmt"
	"strconv"
)

// JobAttr returns an attribute of the job (PMI-2 info-getjobattr).
func (e *Engine) JobAttr(key []byte) (value string, ok bool) {
	switch string(key) {
	case mappingKey, hardwareKey:
		return e.store.committed(givenRank, key)
	case "universeSize":
		return strconv.Itoa(e.info.universe()), true
	case "hasNameServ":
		return "yes", true
	}
	return e.FailureAttr(key)
}

// FailureAttr returns an attribute of the job about failed ranks: DeadKey or IncarnationsKey.
func (e *Engine) FailureAttr(key []byte) (value string, ok bool) {
	switch string(key) {
	case DeadKey:
		return e.failures.dead()
	case IncarnationsKey:
		return e.failures.respawned()
	}
	return "", false
}

// PutNodeAttr sets an attribute of the node and answers the requests that wait for it.
func (e *Engine) PutNodeAttr(rank int, key, value []byte) error {
	if err := checkPair(key, value); err != nil {
		return err
	}
	if string(key) == RespawnKey {
		return e.askRespawn(rank, value)
	}
	old, has := e.attrs[string(key)]
	s := e.state(rank)
	if err := s.account(rank, !has, len(key), max(0, len(value)-len(old))); err != nil {
		return err
	}
	name, text := string(key), string(value)
	e.attrs[name] = text
	for _, w := range e.waiters[name] {
		e.state(w.rank).held--
		e.emit(Event{Kind: EventAttr, Rank: w.rank, Tag: w.tag, Value: text})
	}
	delete(e.waiters, name)
	return nil
}

// NodeAttr returns an attribute of the node. If it is missing and wait is set, the request is held:
// EventAttr answers it when a rank of the node puts the attribute.
func (e *Engine) NodeAttr(rank int, tag Tag, key []byte, wait bool) (value string, ok, held bool, err error) {
	if value, ok = e.attrs[string(key)]; ok {
		return value, true, false, nil
	}
	if string(key) == "localRanks" {
		value, ok = e.localRanksText()
		return value, ok, false, nil
	}
	if !wait {
		return "", false, false, nil
	}
	if err := checkPair(key, nil); err != nil {
		return "", false, false, err
	}
	if err := e.hold(rank); err != nil {
		return "", false, false, err
	}
	name := string(key)
	e.waiters[name] = append(e.waiters[name], waiter{rank: rank, tag: tag})
	return "", false, true, nil
}

// hold counts a request of a rank that waits for an answer.
func (e *Engine) hold(rank int) error {
	s := e.state(rank)
	if s.held == MaxHeld {
		return fmt.Errorf("%w: more than %d requests wait for an answer", ErrFull, MaxHeld)
	}
	s.held++
	return nil
}

// localRanksText lists the ranks of the node as a PMI-2 array. It returns false if the list is
// longer than a value may be.
func (e *Engine) localRanksText() (string, bool) {
	var text []byte
	for _, rank := range e.local {
		text = strconv.AppendInt(text, int64(rank), 10)
		text = append(text, ',')
		if len(text) > MaxValue+1 {
			return "", false
		}
	}
	return string(text[:len(text)-1]), true
}
