package api

// Unchanged is the header, or the key of an error's metadata, by which a daemon says that a call
// had no effect, so that it may be repeated; the value is Yes.
const (
	Unchanged = "Score-Unchanged"
	Yes       = "yes"
)

// MaxUserMessage bounds a request of a user: the largest program that may be submitted, with the
// names and lengths around it.
const MaxUserMessage = 8 << 20
