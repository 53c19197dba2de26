package sim

import (
	"net/netip"
	"score/channels/link"
)

// directoryPort is where the directory of every node listens; contexts have the ports from
// contextPort on.
const (
	directoryPort = 1
	contextPort   = 1000
)

// directoryAddress returns where a node's directory listens.
func directoryAddress(node int) link.Address { return addressOf(node, directoryPort) }

// contextAddress returns where an end's datagrams come from, and go to.
func contextAddress(node, end int) link.Address { return addressOf(node, contextPort+uint16(end)) }

func addressOf(node int, port uint16) link.Address {
	return link.AddressOf(netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(node + 1)}), port))
}

// answer lets the directory of an end's node answer a question, and ends its flight. The
// directory serves all jobs of its node, whoever the end is.
func (w *world) answer(e *end, ref int32) {
	f := w.flights[ref]
	w.land(ref)
	h, _, err := link.Parse(f.buf)
	if err != nil || h.Kind != link.Where {
		return
	}
	wanted := w.find(&h)
	if wanted == nil || wanted.node != e.node || wanted.silent() {
		return // nobody knows, or the node died with its rank
	}
	if !wanted.made && !w.cluster.open(wanted) || wanted.part != nil && !wanted.part.host.alive {
		return // nobody is there who could say
	}
	here := link.Head{Kind: link.Here, Job: h.Job, Channel: h.Channel, From: h.To, To: h.From, Status: link.StatusHere}
	switch {
	case !w.calmed && w.rng.chance(100):
		here.Status = link.StatusNotYet
	default:
		here.Port = wanted.address.AddrPort().Port()
	}
	var writer link.Writer
	buf := make([]byte, link.HeadBytes)
	writer.Begin(buf, len(buf), &here)
	w.emit(wanted, w.ends[f.from], flight{source: directoryAddress(e.node)}, buf[:writer.Finish(0)])
}

// find returns the end that a question is about.
func (w *world) find(h *link.Head) *end {
	for _, e := range w.ends {
		if jobKey(e.spec.Job) == h.Job && uint32(e.spec.Channel) == h.Channel && uint32(e.spec.Rank) == h.To {
			return e
		}
	}
	return nil
}

// jobKey is the key of a job: none is 0.
func jobKey(job uint16) uint64 { return uint64(job) + 1 }
