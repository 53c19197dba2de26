//go:build !amd64 || race

package release

import "sync/atomic"

// Store64 stores v so that a reader that loads it sees everything stored before.
func Store64(p *uint64, v uint64) { atomic.StoreUint64(p, v) }

// Relaxed64 stores v. A reader that loads the value of a later Store64 sees v, too.
func Relaxed64(p *uint64, v uint64) { atomic.StoreUint64(p, v) }
