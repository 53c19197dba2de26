//go:build !amd64 || race

package release

import "sync/atomic"

// Store64 stores v so that whoever loads it sees all that was stored before.
func Store64(p *uint64, v uint64) { atomic.StoreUint64(p, v) }

// Relaxed64 stores v, which whoever loads it sees before what a later Store64 stores.
func Relaxed64(p *uint64, v uint64) { atomic.StoreUint64(p, v) }
