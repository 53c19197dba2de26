package tag

import (
	"score/pm/tag/match"
	"unsafe"
)

// opOf is the Op that a posted receive is the first field of.
func opOf(r *match.Recv) *Op { return (*Op)(unsafe.Pointer(r)) }

// heldOf is the Held that a held message is the first field of.
func heldOf(u *match.Message) *Held { return (*Held)(unsafe.Pointer(u)) }
