package channels

import (
	"fmt"
	"runtime/debug"
)

// Guard runs f, which uses images, and turns a memory fault in it into ErrDamaged. The
// agent needs that: seals and early allocation keep an image's pages there, but a
// hostile process can still punch holes, and a system that accounts for memory
// strictly may then have no page to fill one. Panics that are no faults pass through.
func Guard(f func()) (err error) {
	before := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(before)
	defer func() {
		if p := recover(); p != nil {
			fault, ok := p.(interface{ Addr() uintptr })
			if !ok {
				panic(p)
			}
			err = fmt.Errorf("%w: no memory at %#x", ErrDamaged, fault.Addr())
		}
	}()
	f()
	return nil
}
