//go:build amd64 && !race

package release

// Store64 stores v so that whoever loads it sees all that was stored before.
//
//go:noescape
func Store64(p *uint64, v uint64)

// Relaxed64 stores v, which whoever loads it sees before what a later Store64 stores.
func Relaxed64(p *uint64, v uint64) { *p = v }
