package leader

import (
	"cmp"
	"score/scored/api/scorev1"
)

// mergeMessages merges two reports of messages, count by count; nil: none.
func mergeMessages(x, y *scorev1.Messages, merge func(x, y uint64) uint64) *scorev1.Messages {
	if x == nil || y == nil {
		return cmp.Or(x, y)
	}
	return &scorev1.Messages{
		Contexts:       merge(x.GetContexts(), y.GetContexts()),
		Sent:           merge(x.GetSent(), y.GetSent()),
		SentBytes:      merge(x.GetSentBytes(), y.GetSentBytes()),
		Received:       merge(x.GetReceived(), y.GetReceived()),
		ReceivedBytes:  merge(x.GetReceivedBytes(), y.GetReceivedBytes()),
		Full:           merge(x.GetFull(), y.GetFull()),
		Nacked:         merge(x.GetNacked(), y.GetNacked()),
		Resent:         merge(x.GetResent(), y.GetResent()),
		CreditRequests: merge(x.GetCreditRequests(), y.GetCreditRequests()),
		CreditsGranted: merge(x.GetCreditsGranted(), y.GetCreditsGranted()),
		Transports:     mergeTransports(x.GetTransports(), y.GetTransports(), merge),
	}
}

// mergeTransports does the same for the layers above channels.
func mergeTransports(x, y *scorev1.Transports, merge func(x, y uint64) uint64) *scorev1.Transports {
	if x == nil || y == nil {
		return cmp.Or(x, y)
	}
	return &scorev1.Transports{
		Lanes:            merge(x.GetLanes(), y.GetLanes()),
		LanesGivenBack:   merge(x.GetLanesGivenBack(), y.GetLanesGivenBack()),
		DirectOperations: merge(x.GetDirectOperations(), y.GetDirectOperations()),
		WindowsMapped:    merge(x.GetWindowsMapped(), y.GetWindowsMapped()),
		CopiedBytes:      merge(x.GetCopiedBytes(), y.GetCopiedBytes()),
		StreamedBytes:    merge(x.GetStreamedBytes(), y.GetStreamedBytes()),
		BulkBytes:        merge(x.GetBulkBytes(), y.GetBulkBytes()),
		PiecesAgain:      merge(x.GetPiecesAgain(), y.GetPiecesAgain()),
		Rendezvous:       merge(x.GetRendezvous(), y.GetRendezvous()),
		PeersGivenUp:     merge(x.GetPeersGivenUp(), y.GetPeersGivenUp()),
		RendezvousOpen:   merge(x.GetRendezvousOpen(), y.GetRendezvousOpen()),
		UnexpectedBytes:  merge(x.GetUnexpectedBytes(), y.GetUnexpectedBytes()),
	}
}
