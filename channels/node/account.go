package node

import (
	"math"
	"score/channels/abi"
)

// Messages are the message counts of a job's ranks on this node, over all its contexts, those that
// are gone included. They never fall, except the values of the present. The ranks themselves count:
// a rank that writes wrong figures falsifies only its own job's.
type Messages struct {
	Contexts                uint64 // made so far
	Sent, SentBytes         uint64
	Received, ReceivedBytes uint64
	Full                    uint64 // sends that found no space
	Nacked                  uint64 // frames from other nodes that were refused
	Resent                  uint64 // frames sent to other nodes once more
	CreditRequests          uint64 // requests for credits sent to ranks of other nodes
	CreditsGranted          uint64 // credits granted to ranks of other nodes
	Transports              Transports
}

// Transports are what the layers above channels did.
type Transports struct {
	Lanes, LanesGivenBack uint64
	Direct, Mapped        uint64 // one-sided operations by load and store; windows mapped for them
	Copied, Streamed      uint64 // bytes of long transfers
	Bulk, Again           uint64 // of Streamed: sent to other nodes as bulk datagrams; pieces asked for again
	Rendezvous, GivenUp   uint64
	RendezvousOpen        uint64 // now
	Unexpected            uint64 // now: bytes that nobody has received yet
}

// columns are the counters that are added up.
func (m *Messages) columns() [len(counted)]*uint64 {
	return [...]*uint64{
		&m.Sent, &m.SentBytes, &m.Received, &m.ReceivedBytes, &m.Full, &m.Nacked, &m.Resent,
		&m.CreditRequests, &m.CreditsGranted,
		&m.Transports.Lanes, &m.Transports.LanesGivenBack,
		&m.Transports.Direct, &m.Transports.Mapped, &m.Transports.Copied, &m.Transports.Streamed,
		&m.Transports.Bulk, &m.Transports.Again, &m.Transports.Rendezvous, &m.Transports.GivenUp,
		&m.Transports.RendezvousOpen, &m.Transports.Unexpected,
	}
}

// counted are the counters of an image, in the order of Messages.columns.
var counted = [...]abi.Counter{
	abi.Sent, abi.SentBytes, abi.Received, abi.ReceivedBytes, abi.Refused, abi.Nacked, abi.Resent,
	abi.CreditRequests, abi.CreditsGranted,
	abi.LanesOpened, abi.LanesGivenBack,
	abi.DirectOperations, abi.WindowsMapped, abi.CopiedBytes, abi.StreamedBytes,
	abi.BulkBytes, abi.PiecesAgain, abi.Rendezvous, abi.PeersGivenUp,
	abi.RendezvousOpen, abi.UnexpectedBytes,
}

// firstLevel is the index in counted of the first counter that can fall.
const firstLevel = len(counted) - 2

// MaxAccounted bounds the contexts that one call of Messages reads: those of a large node, in some
// tens of microseconds.
const MaxAccounted = 256

// account adds up the counters of a job's contexts. Its fields are the job's, under mu.
type account struct {
	all  []*Context // in the order in which they were made
	next int        // the next to read
	sum  Messages
}

// Messages reads the next contexts, at most limit of them, and returns the sums as far as they are
// known. Repeated calls go round all contexts.
func (j *Job) Messages(limit int) Messages {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.closed {
		j.accountLocked(limit)
	}
	return j.account.sum
}

func (j *Job) accountLocked(limit int) {
	a := &j.account
	a.sum.Contexts = uint64(len(a.all))
	for range min(limit, len(a.all)) {
		if a.next >= len(a.all) {
			a.next = 0
		}
		a.add(a.all[a.next])
		a.next++
	}
}

// add adds what the context has counted since it was last read.
func (a *account) add(c *Context) {
	var now [len(counted)]uint64
	c.guard(func() {
		for i, counter := range counted {
			now[i] = c.img.Counter(counter)
		}
	})
	if c.damaged.Load() {
		return
	}
	for i, sum := range a.sum.columns() {
		if i >= firstLevel {
			*sum -= min(c.counted[i], *sum)
			c.counted[i] = 0
		}
		grown := now[i] - c.counted[i]
		if now[i] < c.counted[i] {
			grown = now[i] // another process opened the channel, and began to count
		}
		c.counted[i] = now[i]
		*sum += min(grown, math.MaxInt64-*sum)
	}
}
