//go:build amd64 && !race

package channels

// release64 stores v so that whoever loads it sees all that was stored before.
// On amd64 every store does that, while sync/atomic's is also a full fence: it waits
// until the line has come from the other processor, and costs two thirds of
// the message rate. A later load may overtake this store; see fence.go.
//
//go:noescape
func release64(p *uint64, v uint64)
