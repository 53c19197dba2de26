package dump

import (
	"encoding/hex"
	"math"
	"score/channels"
	"score/channels/abi"
	"score/flowctl"
)

// maxListed bounds the messages that are listed one by one, of the inbox and of each peer; all are
// counted.
const maxListed = 1000

// Report is a dumped context for people and programs.
type Report struct {
	Head     Head              `json:"head"`
	Ranks    uint32            `json:"ranks"`
	Local    []uint32          `json:"local_ranks"`
	Pages    int               `json:"pages"`
	State    string            `json:"state"`
	Asleep   bool              `json:"asleep"`
	Away     bool              `json:"away"`
	PID      uint32            `json:"pid"`
	Counters map[string]uint64 `json:"counters"`
	Inbox    Inbox             `json:"inbox"`
	Peers    []Peer            `json:"peers"`
}

// Inbox is what lies there: messages of the node's ranks and of others.
type Inbox struct {
	Messages int       `json:"messages"`
	Bytes    uint64    `json:"bytes"`
	Listed   []Message `json:"listed"`
}

// Message is one of the inbox.
type Message struct {
	From   uint32 `json:"from"`
	Length int    `json:"length"`
	Ring   string `json:"ring"`
	State  string `json:"state,omitempty"` // empty: it is complete
	Head   string `json:"head"`            // its first bytes, in hexadecimal
}

// Peer is the exchange with a rank on another node. Numbers of frames wrap after 2^32.
type Peer struct {
	Rank           uint32      `json:"rank"`
	Acknowledged   flowctl.Seq `json:"acknowledged"`   // frames before this one are
	Next           flowctl.Seq `json:"next"`           // frame that is sent next
	End            flowctl.Seq `json:"end"`            // one past the newest that is kept
	Unacknowledged uint32      `json:"unacknowledged"` // frames sent and not acknowledged
	Unsent         uint32      `json:"unsent"`         // frames not sent yet, or to be sent again
	Transmissions  flowctl.Tx  `json:"transmissions"`  // newest
	Answered       flowctl.Tx  `json:"answered"`       // newest that was
	Window         uint16      `json:"window"`
	Hold           string      `json:"hold"` // why nothing is sent
	Failed         bool        `json:"failed"`
	Closed         bool        `json:"closed"`
	Suspended      bool        `json:"suspended"`
	RoundTripNanos int64       `json:"round_trip_nanos"`
	Received       flowctl.Seq `json:"received"` // frames accepted
	Echo           flowctl.Tx  `json:"echo"`     // newest transmission seen
	Tells          string      `json:"tells"`    // what its answers say
	Kept           Kept        `json:"kept"`
}

// Kept are the messages for a peer that are not acknowledged.
type Kept struct {
	Messages int           `json:"messages"`
	Bytes    uint64        `json:"bytes"`
	Listed   []KeptMessage `json:"listed"`
	Trouble  string        `json:"trouble,omitempty"` // the list makes no sense
}

// KeptMessage is one of them.
type KeptMessage struct {
	Length int         `json:"length"`
	First  flowctl.Seq `json:"first_frame"`
	Frames uint32      `json:"frames"`
}

// Report describes what is in the dump.
func (d *Dump) Report() *Report {
	img := d.img
	r := &Report{
		Head: d.Head, Ranks: img.Geometry().Ranks, Local: img.Local(), Pages: len(d.pages), State: stateName(img.State()),
		Asleep: img.Sleeping(), Away: img.Away(), PID: img.Owner(abi.RoleProcess).Pid, Counters: make(map[string]uint64),
		Inbox: Inbox{Listed: []Message{}}, Peers: []Peer{},
	}
	for _, c := range abi.Counters {
		r.Counters[c.Name] = img.Counter(c.ID)
	}
	img.Queue(func(q channels.Queued) bool {
		r.Inbox.Messages++
		r.Inbox.Bytes += uint64(q.Length)
		if len(r.Inbox.Listed) < maxListed {
			r.Inbox.Listed = append(r.Inbox.Listed, Message{q.From, q.Length, q.Ring, q.State, hex.EncodeToString(q.Head)})
		}
		return true
	})
	d.budget = img.SendBuffer().Messages()
	for _, number := range d.pages {
		first, end := img.RanksOfPage(number)
		for rank := first; rank < end; rank++ {
			if p, ok := d.peer(rank); ok {
				r.Peers = append(r.Peers, p)
			}
		}
	}
	return r
}

func stateName(state uint32) string {
	switch state {
	case abi.StateOpen:
		return "open"
	case abi.StateClosed:
		return "closed"
	case abi.StateGone:
		return "gone"
	default:
		return "unknown"
	}
}

// peer is false for ranks of the node, and those with which there was no exchange.
func (d *Dump) peer(rank uint32) (p Peer, ok bool) {
	sender, receiver, err := d.img.Flow(rank)
	if err != nil || *sender == (flowctl.Sender{}) && *receiver == (flowctl.Receiver{}) {
		return p, false
	}
	s, r := sender.Status(), receiver.Status()
	p = Peer{
		Rank: rank, Acknowledged: s.Acked, Next: s.Next, End: s.Queued,
		Unacknowledged: sender.Unacked(), Unsent: sender.Unsent(),
		Transmissions: s.Sent, Answered: s.Answered, Window: s.Window, RoundTripNanos: s.RoundTrip.Nanoseconds(),
		Failed: s.Failed, Closed: sender.Closed(), Suspended: s.Suspended,
		Received: r.Next, Echo: r.Echo, Tells: r.Kind.String(), Kept: Kept{Listed: []KeptMessage{}},
	}
	if s.Hold != flowctl.Open {
		p.Hold = s.Hold.String()
	}
	err = d.img.KeptFor(rank, func(length int, first flowctl.Seq, frames uint32) bool {
		if d.budget--; d.budget < 0 {
			p.Kept.Trouble = "there are more messages than the send buffer can hold"
			return false
		}
		p.Kept.Messages++
		p.Kept.Bytes += min(uint64(length), math.MaxUint64-p.Kept.Bytes)
		if len(p.Kept.Listed) < maxListed {
			p.Kept.Listed = append(p.Kept.Listed, KeptMessage{length, first, frames})
		}
		return true
	})
	if err != nil {
		p.Kept.Trouble = err.Error()
	}
	return p, true
}
