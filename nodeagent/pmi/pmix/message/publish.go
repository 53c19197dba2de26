package message

import "score/nodeagent/pmi/pmix/bfrops"

// PublishRequest publishes values for other jobs.
type PublishRequest struct {
	UID   uint32
	Infos bfrops.Infos
}

// ReadPublish reads a PublishRequest.
func ReadPublish(r *bfrops.Reader) PublishRequest {
	return PublishRequest{UID: r.Uint32(), Infos: r.Infos()}
}

// Write writes the request after its command.
func (m *PublishRequest) Write(w *bfrops.Writer) {
	w.One(bfrops.NewNumber(bfrops.Uint32, uint64(m.UID)))
	w.Infos(m.Infos)
}

// The ranges in which values are published, with PMIx's numbers.
const (
	RangeUndefined = 0
	RangeManager   = 1
	RangeNode      = 2
	RangeNamespace = 3
	RangeSession   = 4
	RangeGlobal    = 5
	RangeCustom    = 6
	RangeProcess   = 7
)

// The persistences of published values, with PMIx's numbers.
const (
	PersistIndefinite = 0
	PersistFirstRead  = 1
	PersistProcess    = 2
	PersistApp        = 3
	PersistSession    = 4
)

// Described reports whether a key of a PublishRequest describes the request and is not itself
// published.
func Described(key string) bool {
	switch key {
	case KeyRange, KeyPersist, KeyUser, KeyTimeout, "pmix.egid":
		return true
	}
	return false
}
