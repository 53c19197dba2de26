package api

// Unchanged is the header, or the key of an error's metadata, by which a daemon says that a call
// has done nothing, so that it may be made again; the value is Yes.
const (
	Unchanged = "Score-Unchanged"
	Yes       = "yes"
)

// MaxUserMessage bounds a request of a user: the largest program that may be submitted, with the
// names and lengths around it.
const MaxUserMessage = 8 << 20

// MaxRespawns bounds how often a user may have a rank restarted; what a rank may ask for itself,
// pmi.MaxRespawns, is as often.
const MaxRespawns = 1000
