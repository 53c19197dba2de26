//go:build amd64 && !race

package release

// Store64 stores v so that a reader that loads it sees everything stored before.
//
//go:noescape
func Store64(p *uint64, v uint64)

// Relaxed64 stores v. A reader that loads the value of a later Store64 sees v, too.
func Relaxed64(p *uint64, v uint64) { *p = v }
