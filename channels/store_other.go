//go:build !amd64 || race

package channels

import "sync/atomic"

// release64 stores v so that whoever loads it sees all that was stored before.
func release64(p *uint64, v uint64) { atomic.StoreUint64(p, v) }
