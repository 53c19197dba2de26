package leader

import (
	"cmp"
	"score/scored/api/scorev1"
)

// transportsNotLess is like notLess, for the layers above channels; values of the present moment
// may fall.
func transportsNotLess(was, is *scorev1.Transports) *scorev1.Transports {
	if was == nil || is == nil {
		return cmp.Or(is, was)
	}
	return &scorev1.Transports{
		Lanes:            max(was.GetLanes(), is.GetLanes()),
		LanesGivenBack:   max(was.GetLanesGivenBack(), is.GetLanesGivenBack()),
		DirectOperations: max(was.GetDirectOperations(), is.GetDirectOperations()),
		WindowsMapped:    max(was.GetWindowsMapped(), is.GetWindowsMapped()),
		CopiedBytes:      max(was.GetCopiedBytes(), is.GetCopiedBytes()),
		StreamedBytes:    max(was.GetStreamedBytes(), is.GetStreamedBytes()),
		BulkBytes:        max(was.GetBulkBytes(), is.GetBulkBytes()),
		PiecesAgain:      max(was.GetPiecesAgain(), is.GetPiecesAgain()),
		Rendezvous:       max(was.GetRendezvous(), is.GetRendezvous()),
		PeersGivenUp:     max(was.GetPeersGivenUp(), is.GetPeersGivenUp()),
		RendezvousOpen:   is.GetRendezvousOpen(),
		UnexpectedBytes:  is.GetUnexpectedBytes(),
	}
}

// addTransports adds two nodes' reports; nil: none.
func addTransports(to, t *scorev1.Transports) *scorev1.Transports {
	if to == nil || t == nil {
		return cmp.Or(to, t)
	}
	return &scorev1.Transports{
		Lanes:            add(to.GetLanes(), t.GetLanes()),
		LanesGivenBack:   add(to.GetLanesGivenBack(), t.GetLanesGivenBack()),
		DirectOperations: add(to.GetDirectOperations(), t.GetDirectOperations()),
		WindowsMapped:    add(to.GetWindowsMapped(), t.GetWindowsMapped()),
		CopiedBytes:      add(to.GetCopiedBytes(), t.GetCopiedBytes()),
		StreamedBytes:    add(to.GetStreamedBytes(), t.GetStreamedBytes()),
		BulkBytes:        add(to.GetBulkBytes(), t.GetBulkBytes()),
		PiecesAgain:      add(to.GetPiecesAgain(), t.GetPiecesAgain()),
		Rendezvous:       add(to.GetRendezvous(), t.GetRendezvous()),
		PeersGivenUp:     add(to.GetPeersGivenUp(), t.GetPeersGivenUp()),
		RendezvousOpen:   add(to.GetRendezvousOpen(), t.GetRendezvousOpen()),
		UnexpectedBytes:  add(to.GetUnexpectedBytes(), t.GetUnexpectedBytes()),
	}
}
