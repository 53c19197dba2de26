package pmi

import (
	"encoding/binary"
	"fmt"
	"time"
)

// relayKind is the kind of a message between nodes of the same job or of
// connected jobs.
type relayKind uint8

const (
	// relayFetch asks for the keys of a rank, relayCard answers.
	relayFetch relayKind = iota + 1
	relayCard
	// relayOpen announces a group to its nodes. relayIn reports to the first node that all its
	// ranks on the sender have come, relayOut to the other nodes that all ranks have come.
	relayOpen
	relayIn
	relayOut
	// relayNotify carries an event.
	relayNotify
)

// relayed is a message between the engines of two nodes:
//
//	message := version kind id ...
//	fetch   := rank key timeout            nanoseconds
//	card    := outcome n n*(key value)
//	open, in, out := group outcome         group as in groupKey, its sequence as id
//	  out of a construct: and its number
//	notify  := source code range infos     range with fleetingBit
//
// Numbers are LEB128, texts have their length before them.
type relayed struct {
	kind    relayKind
	id      uint64
	rank    int
	key     string
	timeout time.Duration
	outcome Outcome
	pairs   []KV
	group   string
	number  uint64
	note    Notice
}

// fleetingBit marks an event that is not kept. Stewards that do not know the bit read the range
// without it.
const fleetingBit = 1 << 8

// relayVersion is the version of this format.
const relayVersion = 1

func (e *Engine) relay(to address, m relayed) {
	e.emit(Event{Kind: EventRelay, Job: to.job, Node: to.node, Data: m.append(nil)})
}

func (m *relayed) append(dst []byte) []byte {
	dst = append(dst, relayVersion, byte(m.kind))
	dst = binary.AppendUvarint(dst, m.id)
	switch m.kind {
	case relayFetch:
		dst = binary.AppendUvarint(dst, uint64(m.rank))
		dst = appendText(dst, m.key)
		dst = binary.AppendUvarint(dst, uint64(m.timeout))
	case relayCard:
		dst = binary.AppendUvarint(dst, uint64(m.outcome))
		dst = binary.AppendUvarint(dst, uint64(len(m.pairs)))
		for _, pair := range m.pairs {
			dst = appendText(dst, pair.Key)
			dst = appendText(dst, pair.Value)
		}
	case relayOpen, relayIn, relayOut:
		dst = appendText(dst, m.group)
		dst = binary.AppendUvarint(dst, uint64(m.outcome))
		if m.hasNumber() {
			dst = binary.AppendUvarint(dst, m.number)
		}
	case relayNotify:
		dst = binary.AppendUvarint(dst, uint64(m.note.Source))
		dst = binary.AppendVarint(dst, int64(m.note.Code))
		scope := uint64(m.note.Range)
		if m.note.Fleeting {
			scope |= fleetingBit
		}
		dst = binary.AppendUvarint(dst, scope)
		dst = appendText(dst, m.note.Infos)
	}
	return dst
}

// hasNumber reports whether the message ends a construct.
func (m *relayed) hasNumber() bool {
	return m.kind == relayOut && groupKindOf(m.group) == GroupConstruct
}

// readRelayed reads a message. The error wraps ErrExchange.
func readRelayed(data []byte) (relayed, error) {
	r := newReader(string(data))
	version := r.Number()
	m := relayed{kind: relayKind(r.Number())}
	if r.Bad() || version != relayVersion {
		return m, badExchange("a message of version %d, this is %d; all nodes need the same version of score", version, relayVersion)
	}
	m.id = r.Number()
	switch m.kind {
	case relayFetch:
		m.rank, m.key, m.timeout = r.small(), r.Chunk(r.Number()), time.Duration(r.Number())
	case relayCard:
		m.outcome = r.outcome()
		const minBytes = 2 // bytes of a pair
		for range r.Count(minBytes) {
			m.pairs = append(m.pairs, KV{r.Chunk(r.Number()), r.Chunk(r.Number())})
			if r.Bad() {
				break
			}
		}
	case relayOpen, relayIn, relayOut:
		m.group, m.outcome = r.Chunk(r.Number()), r.outcome()
		if m.hasNumber() {
			m.number = r.Number()
		}
	case relayNotify:
		m.note = Notice{Source: r.small(), Code: int32(r.Signed())}
		scope := r.Number()
		m.note.Range, m.note.Fleeting, m.note.Infos = uint8(scope), scope&fleetingBit != 0, r.Chunk(r.Number())
	default:
		return m, badExchange("a message of kind %d", m.kind)
	}
	if r.Bad() || r.Left() > 0 {
		return m, badExchange("a message that contradicts itself")
	}
	return m, nil
}

// small reads a rank or a number of ranks.
func (r *reader) small() int {
	n := r.Number()
	if n >= MaxRanks {
		return int(r.Fail())
	}
	return int(n)
}

// outcome reads an Outcome.
func (r *reader) outcome() Outcome {
	n := r.Number()
	if n > uint64(TimedOut) {
		return Outcome(r.Fail())
	}
	return Outcome(n)
}

// Relayed handles a message that another node has sent by EventRelay. The error wraps ErrExchange;
// the job must end then.
func (e *Engine) Relayed(now time.Time, job uint64, node int, data []byte) error {
	m, err := readRelayed(data)
	if err != nil {
		return fmt.Errorf("node %d of job %d: %w", node, job, err)
	}
	from := address{job, node}
	switch m.kind {
	case relayFetch:
		return e.onFetch(now, from, &m)
	case relayCard:
		e.onCard(&m)
	case relayOpen:
		return e.onGroupOpened(from, &m)
	case relayIn:
		return e.onGroupPart(from, &m)
	case relayOut:
		return e.onGroupOver(from, &m)
	case relayNotify:
		if job == e.info.Job {
			e.deliver(&m.note)
		}
	}
	return nil
}

// RelayFailed reports that a message cannot reach its node: a request that waits for the answer
// fails.
func (e *Engine) RelayFailed(job uint64, node int, data []byte) {
	m, err := readRelayed(data)
	if err != nil {
		return
	}
	switch m.kind {
	case relayFetch:
		e.onCard(&relayed{id: m.id, outcome: Missing})
	case relayIn:
		m.outcome = Missing
		_ = e.onGroupOver(address{job, node}, &m) // as if its first node had sent the end
	case relayOpen:
		m.outcome = Missing
		_ = e.onGroupPart(address{job, node}, &m) // as if the node had reported it
	case relayCard, relayOut, relayNotify:
		// Their receivers are gone, and nothing here waits for them.
	}
}
